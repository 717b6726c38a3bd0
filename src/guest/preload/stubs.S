// SPDX-License-Identifier: Apache-2.0
// One exported stub per hook: a jump through a slot. The slot first leads to the resolver, which fills it with the
// typed wrapper or with the real function; after that a hook costs one indirect jump. No argument is looked at, so
// any signature passes, struct returns and stack arguments included. x86-64, System V.
#if !defined(__x86_64__)
#error "guest objects are built for x86-64 only so far"
#endif

.macro cox_stub name
  .text
  .p2align 4
  .globl \name
  .type \name, @function
\name:
  endbr64
  jmp *(cox_slots + cox_index * 8)(%rip)
  .size \name, . - \name
  .p2align 4
.Llazy_\@:
  endbr64
  pushq $cox_index
  jmp cox_resolve_lazily
  .section .data.rel.cox_slots, "aw", @progbits
  .quad .Llazy_\@
  .text
  .set cox_index, cox_index + 1
.endm

// A function that is only counted: its slot leads to this, once resolved, which adds one to the kind's counter and
// goes on to the real function. r11 belongs to nobody at a call.
.macro cox_counting kind
  .text
  .p2align 4
.Lcounting_\@:
  endbr64
  movq cox_counters(%rip), %r11
  lock incq (8 * \kind)(%r11)
  jmp *(cox_counted + cox_counted_index * 8)(%rip)
  .section .data.rel.ro.cox_counting, "aw", @progbits
  .quad .Lcounting_\@
  .text
  .set cox_counted_index, cox_counted_index + 1
.endm

  .section .data.rel.ro.cox_counting, "aw", @progbits
  .p2align 6
  .globl cox_counting
  .hidden cox_counting
  .type cox_counting, @object
cox_counting:
  .section .data.rel.cox_slots, "aw", @progbits
  .p2align 6
  .globl cox_slots
  .hidden cox_slots
  .type cox_slots, @object
cox_slots:
  .text
  .set cox_index, 0
  .set cox_counted_index, 0
  .set Sessions, 0
  .set OneSided, 1
  .set Files, 2
  .set LargeCounts, 3
  .set FaultTolerance, 4
  .set Messages, 5
  .set Processes, 6
#define COX_HOOK(family, name) cox_stub name
#define COX_COUNTED(kind, name) cox_stub name; cox_counting kind
#include "hooks.inc"

// Real functions of those that are counted, in their order.
  .bss
  .p2align 6
  .globl cox_counted
  .hidden cox_counted
  .type cox_counted, @object
cox_counted:
  .skip cox_counted_index * 8

// On the stack: hook number, return address of the caller. Saves every register that may carry an argument,
// asks cox_resolve(number, return address) for the target, restores and jumps there.
  .text
  .p2align 4
  .type cox_resolve_lazily, @function
cox_resolve_lazily:
  .cfi_startproc
  .cfi_def_cfa_offset 16
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 24
  .cfi_offset %rbp, -24
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  andq $-16, %rsp
  subq $208, %rsp
  movq %rax, 0(%rsp)
  movq %rdi, 8(%rsp)
  movq %rsi, 16(%rsp)
  movq %rdx, 24(%rsp)
  movq %rcx, 32(%rsp)
  movq %r8, 40(%rsp)
  movq %r9, 48(%rsp)
  movq %r10, 56(%rsp)
  movups %xmm0, 64(%rsp)
  movups %xmm1, 80(%rsp)
  movups %xmm2, 96(%rsp)
  movups %xmm3, 112(%rsp)
  movups %xmm4, 128(%rsp)
  movups %xmm5, 144(%rsp)
  movups %xmm6, 160(%rsp)
  movups %xmm7, 176(%rsp)
  movq 8(%rbp), %rdi
  movq 16(%rbp), %rsi
  call cox_resolve
  movq %rax, %r11
  movq 0(%rsp), %rax
  movq 8(%rsp), %rdi
  movq 16(%rsp), %rsi
  movq 24(%rsp), %rdx
  movq 32(%rsp), %rcx
  movq 40(%rsp), %r8
  movq 48(%rsp), %r9
  movq 56(%rsp), %r10
  movups 64(%rsp), %xmm0
  movups 80(%rsp), %xmm1
  movups 96(%rsp), %xmm2
  movups 112(%rsp), %xmm3
  movups 128(%rsp), %xmm4
  movups 144(%rsp), %xmm5
  movups 160(%rsp), %xmm6
  movups 176(%rsp), %xmm7
  leave
  .cfi_def_cfa %rsp, 16
  addq $8, %rsp
  .cfi_def_cfa_offset 8
  jmp *%r11
  .cfi_endproc
  .size cox_resolve_lazily, . - cox_resolve_lazily

  .section .note.GNU-stack, "", @progbits
