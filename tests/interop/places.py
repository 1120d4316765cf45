"""Where the arrays of cases are: in the folders of the cases on the disk, or in a bucket of a server of S3 on this machine."""
import functools
import os
import shutil
import subprocess
import sys

MOTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers", "moto_server.py")
ID, SECRET, REGION = "testing", "testing", "us-east-1"


class Disk:
    """Folders of the disk. The names of arrays are joined to the folder of their case as those of files, which makes URIs of a URI."""

    is_local = True
    # What smalti is told with vacuum and with deletions of fragments.
    upkeep_options = []

    def base(self, folder):
        """Where the arrays are of a case whose files are in a folder."""
        return folder

    def address(self, path):
        """A path as groups hold it."""
        return "file://" + path

    def make(self, folder):
        os.makedirs(folder, exist_ok=True)

    def names(self, folder):
        """What is directly in a folder."""
        return os.listdir(folder)

    def files(self, folder):
        """The files directly in a folder."""
        return [name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))]

    def rename(self, old, new):
        """Renames a file."""
        os.rename(old, new)

    def remove(self, folder):
        shutil.rmtree(folder, ignore_errors=True)


@functools.lru_cache(maxsize=None)
def client(url):
    """What asks a server of S3."""
    import boto3

    return boto3.client("s3", endpoint_url=url, region_name=REGION, aws_access_key_id=ID, aws_secret_access_key=SECRET)


class Bucket:
    """A bucket: `url` is that of the server, `name` the bucket's."""

    is_local = False
    # Nobody can tell who reads in a bucket.
    upkeep_options = ["--ignore-readers"]

    def __init__(self, url, name):
        self.url, self.name = url, name

    def base(self, folder):
        return "s3://%s/%s" % (self.name, os.path.basename(folder))

    def address(self, path):
        return path

    def make(self, folder):
        """Nothing: folders are what names have in common."""

    def create(self):
        client(self.url).create_bucket(Bucket=self.name)

    def names(self, folder):
        return [name.rstrip("/") for name in self._listed(folder, Delimiter="/")]

    def files(self, folder):
        return [name for name in self._listed(folder, Delimiter="/") if not name.endswith("/")]

    def rename(self, old, new):
        client(self.url).copy_object(Bucket=self.name, CopySource={"Bucket": self.name, "Key": self._key(old)}, Key=self._key(new))
        client(self.url).delete_object(Bucket=self.name, Key=self._key(old))

    def remove(self, folder):
        for name in self._listed(folder):
            client(self.url).delete_object(Bucket=self.name, Key=self._key(folder) + "/" + name)

    def _key(self, uri):
        return uri[len("s3://%s/" % self.name) :]

    def _listed(self, folder, **how):
        """The names of objects below a folder; of folders, which end in a slash, instead of what is in them where a delimiter is given."""
        prefix = self._key(folder) + "/"
        found = []
        for page in client(self.url).get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix, **how):
            found += [one["Key"] for one in page.get("Contents", [])] + [one["Prefix"] for one in page.get("CommonPrefixes", [])]
        return [name[len(prefix) :] for name in found if name != prefix]


class Moto:
    """moto's server of S3 on a free port of the loopback, which ends with this process."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, MOTO], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line.strip().isdigit():
            raise RuntimeError("moto said %r instead of its port" % line)
        self.address = "127.0.0.1:%d" % int(line)
        self.url = "http://" + self.address

    def environment(self):
        """The variables by which smalti and libtiledb find the server."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
            "TILEDB_VFS_S3_ENDPOINT_OVERRIDE": self.address,
            "TILEDB_VFS_S3_SCHEME": "http",
            "TILEDB_VFS_S3_USE_VIRTUAL_ADDRESSING": "false",
            "TILEDB_VFS_S3_REGION": REGION,
            "TILEDB_VFS_S3_AWS_ACCESS_KEY_ID": ID,
            "TILEDB_VFS_S3_AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def bucket(self, name):
        made = Bucket(self.url, name)
        made.create()
        return made

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


DISK = Disk()
