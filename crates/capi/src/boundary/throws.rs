//! Callbacks that may throw: an exception of C++ ends here, as it does in the original, instead of ending the program.
//!
//! What catches is a frame of a few instructions with a personality of its own, which says of every exception that it is caught here
//! (System V ABI, exception handling: <https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html>). Rust itself cannot catch exceptions of
//! others. On processors where this is not written, an exception goes on to the caller.
#![allow(unsafe_code, reason = "exceptions of C++ are caught by hand")]

use std::cell::Cell;
use std::ffi::c_void;

/// What a callback answered, or what is known of the exception that it threw.
pub(crate) fn caught(mut call: impl FnMut() -> i32) -> Result<i32, Thrown> {
    let mut job: (&mut dyn FnMut() -> i32, i32) = (&mut call, 0);
    let data: *mut c_void = std::ptr::from_mut(&mut job).cast();
    // SAFETY: `run` takes what is passed here, which lives until it returns.
    let threw = unsafe { guarded(run, data) };
    if threw == 0 { Ok(job.1) } else { Err(Thrown { text: THROWN.take() }) }
}

/// An exception that was caught.
#[derive(Debug)]
pub(crate) struct Thrown {
    /// What `std::exception::what` said of it, where it is one of these.
    pub(crate) text: Option<String>,
}

thread_local! {
    /// The text of the exception that was caught last.
    static THROWN: Cell<Option<String>> = const { Cell::new(None) };
}

unsafe extern "C-unwind" fn run(data: *mut c_void) {
    // SAFETY: `caught` passes this.
    let job = unsafe { &mut *data.cast::<(&mut dyn FnMut() -> i32, i32)>() };
    job.1 = (job.0)();
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C-unwind" {
    /// Calls the function with the pointer: 0 where it returned, 1 where it threw.
    #[link_name = "smalti_capi_guarded"]
    fn guarded(function: unsafe extern "C-unwind" fn(*mut c_void), data: *mut c_void) -> i32;
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn guarded(function: unsafe extern "C-unwind" fn(*mut c_void), data: *mut c_void) -> i32 {
    // SAFETY: as the caller says.
    unsafe { function(data) };
    0
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::c_void;

    std::arch::global_asm!(
        ".text",
        ".p2align 4",
        ".hidden smalti_capi_guarded",
        ".globl smalti_capi_guarded",
        ".type smalti_capi_guarded, @function",
        "smalti_capi_guarded:",
        ".cfi_startproc",
        ".cfi_personality 0x1b, {personality}",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "xor eax, eax",
        ".cfi_remember_state",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_restore_state",
        ".hidden smalti_capi_landing",
        ".globl smalti_capi_landing",
        "smalti_capi_landing:",
        "mov rsp, rbp",
        "mov rdi, rax",
        "call {delete}",
        "mov eax, 1",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        ".size smalti_capi_guarded, . - smalti_capi_guarded",
        personality = sym personality,
        delete = sym delete,
    );

    unsafe extern "C" {
        fn smalti_capi_landing();
        #[link_name = "_Unwind_SetGR"]
        fn set_register(context: *mut c_void, register: i32, value: usize);
        #[link_name = "_Unwind_SetIP"]
        fn set_instruction(context: *mut c_void, address: usize);
        #[link_name = "_Unwind_DeleteException"]
        fn delete_exception(exception: *mut c_void);
    }

    const SEARCH: i32 = 1;
    const FORCED: i32 = 8;
    const HANDLER_FOUND: i32 = 6;
    const INSTALL_CONTEXT: i32 = 7;
    const CONTINUE_UNWIND: i32 = 8;
    /// The number of `rax` in the tables of frames.
    const RAX: i32 = 0;

    extern "C" fn delete(exception: *mut c_void) {
        // SAFETY: it is the exception that was caught, which nobody else has.
        unsafe {
            super::THROWN.set(what::of(exception));
            delete_exception(exception);
        }
    }

    extern "C" fn personality(
        _version: i32,
        actions: i32,
        _class: u64,
        exception: *mut c_void,
        context: *mut c_void,
    ) -> i32 {
        if actions & FORCED != 0 {
            return CONTINUE_UNWIND;
        }
        if actions & SEARCH != 0 {
            return HANDLER_FOUND;
        }
        let landing: unsafe extern "C" fn() = smalti_capi_landing;
        // SAFETY: the unwinder passes its context, and the frame is the one above, whose landing takes the exception in `rax`.
        unsafe {
            set_register(context, RAX, exception.addr());
            set_instruction(context, landing as usize);
        }
        INSTALL_CONTEXT
    }

    /// What an exception says of itself, asked in the way in which the library of GCC for C++ asks it whether a handler is for it
    /// (libsupc++, eh_personality.cc and tinfo.h; the header before an exception: Itanium C++ ABI, 2.2.1).
    mod what {
        use std::ffi::{CStr, c_char, c_int, c_void};

        unsafe extern "C" {
            fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
            fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
        }

        const LAZY: c_int = 1;
        /// Only if it is loaded already.
        const NO_LOAD: c_int = 4;
        /// What exceptions of GCC and clang are marked by; others, and those that are thrown again from a pointer, have a byte more.
        const CLASS: u64 = u64::from_be_bytes(*b"GNUCC++\0");
        /// From the start of the header to where the unwinder's part of it begins, and the length of that part.
        const BEFORE: usize = 80;
        const PART: usize = 32;
        /// Places in the tables of virtual functions of `std::type_info` and `std::exception`.
        const DO_CATCH: usize = 4;
        const WHAT: usize = 2;

        type DoCatch = unsafe extern "C" fn(*const c_void, *const c_void, *mut *mut c_void, u32) -> bool;
        type What = unsafe extern "C" fn(*const c_void) -> *const c_char;

        /// # Safety
        /// It is an exception that was caught and is not deleted yet.
        pub(super) unsafe fn of(exception: *mut c_void) -> Option<String> {
            // SAFETY: an exception begins with its class; one of this class has the header before it and the object behind it, and the type
            // in the header is of the library that is asked, of which there is one in a process. What objects of a class with virtual
            // functions begin with is a pointer to their table.
            unsafe {
                if exception.cast::<u64>().read() != CLASS {
                    return None;
                }
                let library = dlopen(c"libstdc++.so.6".as_ptr(), LAZY | NO_LOAD);
                let base = if library.is_null() {
                    return None;
                } else {
                    dlsym(library, c"_ZTISt9exception".as_ptr())
                };
                if base.is_null() {
                    return None;
                }
                let thrown: *const c_void = exception.byte_sub(BEFORE).cast::<*const c_void>().read();
                let mut object = exception.byte_add(PART);
                let is_exception: DoCatch = std::mem::transmute(function(base, DO_CATCH));
                if !is_exception(base, thrown, &raw mut object, 1) {
                    return None;
                }
                let what: What = std::mem::transmute(function(object, WHAT));
                let text = what(object);
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        }

        /// A virtual function of an object.
        unsafe fn function(object: *const c_void, place: usize) -> *const c_void {
            // SAFETY: the caller says that it begins with a pointer to a table that has so many.
            unsafe { object.cast::<*const *const c_void>().read().add(place).read() }
        }
    }
}
