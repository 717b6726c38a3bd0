/* SPDX-License-Identifier: Apache-2.0 */
/* Included before everything in every guest object: functions by the version that old systems have them in, so
   that an object built on a new one loads from glibc 2.17 on. Held by: src/guest/seam/exports_test.cmake */
#if defined(__x86_64__) && !defined(__ASSEMBLER__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
/* What glibc 2.38 and later make of strtol and its like. */
__asm__(".symver __isoc23_strtol, strtol@GLIBC_2.2.5");
__asm__(".symver __isoc23_strtoul, strtoul@GLIBC_2.2.5");
__asm__(".symver __isoc23_strtoll, strtoll@GLIBC_2.2.5");
__asm__(".symver __isoc23_strtoull, strtoull@GLIBC_2.2.5");
#endif
