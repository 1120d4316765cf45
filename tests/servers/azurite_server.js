// Runs Azurite's blob server, the program that is given, on a free port of the loopback, in memory. It says which. Each line of standard input is
// the name of a container to make, which is told when it is there; where the input ends, so does the server.
const crypto = require("crypto");
const http = require("http");

const ACCOUNT = "devstoreaccount1";
// That of every Azurite, which is no secret.
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const VERSION = "2023-11-03";
let port;

function makeContainer(name) {
  const date = new Date().toUTCString();
  const path = `/${ACCOUNT}/${name}`;
  const signed = `PUT${"\n".repeat(12)}x-ms-date:${date}\nx-ms-version:${VERSION}\n/${ACCOUNT}${path}\nrestype:container`;
  const signature = crypto.createHmac("sha256", Buffer.from(KEY, "base64")).update(signed, "utf8").digest("base64");
  const headers = { "x-ms-date": date, "x-ms-version": VERSION, Authorization: `SharedKey ${ACCOUNT}:${signature}`, "Content-Length": 0 };
  const request = http.request({ host: "127.0.0.1", port, method: "PUT", path: `${path}?restype=container`, headers }, (answer) => {
    answer.resume();
    console.log(answer.statusCode === 201 ? `made ${name}` : `not made ${name}: status ${answer.statusCode}`);
  });
  request.on("error", (error) => console.log(`not made ${name}: ${error}`));
  request.end();
}

const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (text, ...rest) => {
  const told = /successfully listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
  if (told) {
    port = Number(told[1]);
    write(`${port}\n`);
  }
  return /^(not )?made /.test(text) ? write(text, ...rest) : true;
};
require("readline").createInterface({ input: process.stdin }).on("line", makeContainer).on("close", () => process.exit(0));
const program = process.argv[2];
const options = ["--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"];
process.argv.splice(1, 2, program, ...options);
require(program);
