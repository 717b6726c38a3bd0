! SPDX-License-Identifier: Apache-2.0
! As ignored_arguments.c, in both of Fortran's bindings (mpi_f08 with -DF08, else mpif.h): each call with the arguments
! that MPI ignores there out of range, of no type, or in a page that nobody may read. Scalars are read by the bindings
! themselves. Rank 0 prints what each call returned on all ranks. 4 ranks.
#if defined(F08)
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define TYPE type(MPI_Datatype)
#else
#define COMM integer
#define REQUEST integer
#define TYPE integer
#endif
program ignored
  use, intrinsic :: iso_c_binding
#if defined(F08)
  use mpi_f08
#endif
  implicit none
#if !defined(F08)
  include 'mpif.h'
#endif
  interface
#include "ignored_fortran/mmap.inc"
  end interface
  integer, parameter :: n = 3, bad = -7, most = 400
  integer, pointer, contiguous :: poison(:)
  integer :: codes(most), all_codes(most), used, i, r, rank, ierr, in(64), out(64), ones(4), places(4), zeros(4)
  COMM :: world, half, both, copy
  TYPE :: none
  logical :: first

  call MPI_Init(ierr)
  world = MPI_COMM_WORLD
  none = MPI_DATATYPE_NULL
  call MPI_Comm_rank(world, rank, ierr)
  ! MAP_PRIVATE and MAP_ANONYMOUS, no access
  call c_f_pointer(mmap(c_null_ptr, 4096_c_size_t, 0, int(z'22'), -1, 0_c_long), poison, [1024])
  call MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN, ierr)
  used = 0
  codes = -1
  in = rank
  ones = n
  zeros = 0
  places = [0, n, 2 * n, 3 * n]

  call inside(world)
  call nobody(world)
  first = rank < 2
  call MPI_Comm_split(world, merge(1, 0, first), 0, half, ierr)
  call MPI_Intercomm_create(half, 0, world, merge(2, 0, first), 7, both, ierr)
  call note(ierr)
  call MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN, ierr)
  do i = 1, 2
    call MPI_Comm_dup(both, copy, ierr)
    call between(copy, (i == 1) .eqv. first)
    call MPI_Comm_free(copy, ierr)
    call note(ierr)
  end do
  call nobody(both)
  call MPI_Comm_disconnect(both, ierr)
  call note(ierr)
  call MPI_Comm_free(half, ierr)
  call refused

  do r = 0, 3
    if (r == rank .and. rank /= 0) call MPI_Send(codes, most, MPI_INTEGER, 0, 9, world, ierr)
    if (rank /= 0) cycle
    all_codes = codes
    if (r /= 0) call MPI_Recv(all_codes, most, MPI_INTEGER, r, 9, world, MPI_STATUS_IGNORE, ierr)
    print '(A,I0,A,I0,A)', 'rank ', r, ': ', count(all_codes >= 0), ' calls'
    print '(20I4)', pack(all_codes, all_codes >= 0)
  end do
  call MPI_Finalize(ierr)

contains
  subroutine note(code)
    integer, intent(in) :: code
    integer :: class, e
    used = used + 1
    class = MPI_SUCCESS
    if (code /= MPI_SUCCESS) call MPI_Error_class(code, class, e)
    codes(used) = class
  end subroutine
  subroutine finish(request, code)
    REQUEST, intent(inout) :: request
    integer, intent(in) :: code
    integer :: e
    call note(code)
    if (code /= MPI_SUCCESS) return
    call MPI_Wait(request, MPI_STATUS_IGNORE, e)
    call note(e)
  end subroutine

  subroutine inside(c)
    COMM, intent(in) :: c
    REQUEST :: q
    integer :: e
    if (rank == 1) then
      call MPI_Gather(MPI_IN_PLACE, bad, none, out, n, MPI_INTEGER, 1, c, e)
      call note(e)
      call MPI_Gatherv(MPI_IN_PLACE, bad, none, out, ones, places, MPI_INTEGER, 1, c, e)
      call note(e)
      call MPI_Scatter(in, n, MPI_INTEGER, MPI_IN_PLACE, bad, none, 1, c, e)
      call note(e)
      call MPI_Scatterv(in, ones, places, MPI_INTEGER, MPI_IN_PLACE, bad, none, 1, c, e)
      call note(e)
      call MPI_Igatherv(in, n, MPI_INTEGER, out, ones, places, MPI_INTEGER, 1, c, q, e)
      call finish(q, e)
      call MPI_Reduce(MPI_IN_PLACE, out, n, MPI_INTEGER, MPI_SUM, 1, c, e)
      call note(e)
    else
      call MPI_Gather(in, n, MPI_INTEGER, poison(1), bad, none, 1, c, e)
      call note(e)
      call MPI_Gatherv(in, n, MPI_INTEGER, poison(1), poison, poison, none, 1, c, e)
      call note(e)
      call MPI_Scatter(poison(1), bad, none, out, n, MPI_INTEGER, 1, c, e)
      call note(e)
      call MPI_Scatterv(poison(1), poison, poison, none, out, n, MPI_INTEGER, 1, c, e)
      call note(e)
      call MPI_Igatherv(in, n, MPI_INTEGER, poison(1), poison, poison, none, 1, c, q, e)
      call finish(q, e)
      call MPI_Reduce(in, poison(1), n, MPI_INTEGER, MPI_SUM, 1, c, e)
      call note(e)
    end if
    call MPI_Allgather(MPI_IN_PLACE, bad, none, out, n, MPI_INTEGER, c, e)
    call note(e)
    call MPI_Allgatherv(MPI_IN_PLACE, bad, none, out, ones, places, MPI_INTEGER, c, e)
    call note(e)
    call MPI_Alltoall(MPI_IN_PLACE, bad, none, out, n, MPI_INTEGER, c, e)
    call note(e)
    call MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_INTEGER, MPI_SUM, c, e)
    call note(e)
    call MPI_Reduce_scatter_block(MPI_IN_PLACE, out, n, MPI_INTEGER, MPI_SUM, c, e)
    call note(e)
    call MPI_Scan(MPI_IN_PLACE, out, n, MPI_INTEGER, MPI_SUM, c, e)
    call note(e)
  end subroutine

  subroutine nobody(c)
    COMM, intent(in) :: c
    REQUEST :: q
    integer :: e
    call MPI_Send(poison(1), 0, none, MPI_PROC_NULL, 1, c, e)
    call note(e)
    call MPI_Send(poison(1), n, MPI_INTEGER, MPI_PROC_NULL, 1, c, e)
    call note(e)
    call MPI_Recv(poison(1), 0, none, MPI_PROC_NULL, 1, c, MPI_STATUS_IGNORE, e)
    call note(e)
    call MPI_Isend(poison(1), 0, none, MPI_PROC_NULL, 1, c, q, e)
    call finish(q, e)
    call MPI_Irecv(poison(1), 0, none, MPI_PROC_NULL, 1, c, q, e)
    call finish(q, e)
    call MPI_Sendrecv(poison(1), 0, none, MPI_PROC_NULL, 1, poison(9), 0, none, MPI_PROC_NULL, 1, c, MPI_STATUS_IGNORE, e)
    call note(e)
    call MPI_Probe(MPI_PROC_NULL, 1, c, MPI_STATUS_IGNORE, e)
    call note(e)
  end subroutine

  ! `roots`: whether this rank is of the group of the root, which is its rank 1.
  subroutine between(c, roots)
    COMM, intent(in) :: c
    logical, intent(in) :: roots
    REQUEST :: q
    integer :: e
    if (.not. roots) then
      call MPI_Bcast(out, n, MPI_INTEGER, 1, c, e)
      call note(e)
      call MPI_Gather(in, n, MPI_INTEGER, poison(1), bad, none, 1, c, e)
      call note(e)
      call MPI_Gatherv(in, n, MPI_INTEGER, poison(1), poison, poison, none, 1, c, e)
      call note(e)
      call MPI_Scatter(poison(1), bad, none, out, n, MPI_INTEGER, 1, c, e)
      call note(e)
      call MPI_Scatterv(poison(1), poison, poison, none, out, n, MPI_INTEGER, 1, c, e)
      call note(e)
      call MPI_Reduce(in, poison(1), n, MPI_INTEGER, MPI_SUM, 1, c, e)
      call note(e)
      call MPI_Igather(in, n, MPI_INTEGER, poison(1), bad, none, 1, c, q, e)
      call finish(q, e)
    else if (mod(rank, 2) == 1) then
      call MPI_Bcast(in, n, MPI_INTEGER, MPI_ROOT, c, e)
      call note(e)
      call MPI_Gather(poison(1), bad, none, out, n, MPI_INTEGER, MPI_ROOT, c, e)
      call note(e)
      call MPI_Gatherv(poison(1), bad, none, out, ones, places, MPI_INTEGER, MPI_ROOT, c, e)
      call note(e)
      call MPI_Scatter(in, n, MPI_INTEGER, poison(1), bad, none, MPI_ROOT, c, e)
      call note(e)
      call MPI_Scatterv(in, ones, places, MPI_INTEGER, poison(1), bad, none, MPI_ROOT, c, e)
      call note(e)
      call MPI_Reduce(poison(1), out, n, MPI_INTEGER, MPI_SUM, MPI_ROOT, c, e)
      call note(e)
      call MPI_Igather(poison(1), bad, none, out, n, MPI_INTEGER, MPI_ROOT, c, q, e)
      call finish(q, e)
    else
      call MPI_Bcast(poison(1), 0, MPI_INTEGER, MPI_PROC_NULL, c, e)
      call note(e)
      call MPI_Gather(poison(1), bad, none, poison(9), bad, none, MPI_PROC_NULL, c, e)
      call note(e)
      call MPI_Gatherv(poison(1), bad, none, poison(9), poison, poison, none, MPI_PROC_NULL, c, e)
      call note(e)
      call MPI_Scatter(poison(1), bad, none, poison(9), bad, none, MPI_PROC_NULL, c, e)
      call note(e)
      call MPI_Scatterv(poison(1), poison, poison, none, poison(9), bad, none, MPI_PROC_NULL, c, e)
      call note(e)
      call MPI_Reduce(poison(1), poison(9), n, MPI_INTEGER, MPI_SUM, MPI_PROC_NULL, c, e)
      call note(e)
      call MPI_Igather(poison(1), bad, none, poison(9), bad, none, MPI_PROC_NULL, c, q, e)
      call finish(q, e)
    end if
    call MPI_Barrier(c, e)
    call note(e)
    call MPI_Allgather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, c, e)
    call note(e)
  end subroutine

  subroutine refused
    REQUEST :: q
    integer :: e
    COMM :: own
    own = MPI_COMM_NULL
    call MPI_Barrier(own, e)
    call note(e)
    call MPI_Bcast(in, bad, MPI_INTEGER, 0, world, e)
    call note(e)
    call MPI_Bcast(in, 1, none, 0, world, e)  ! MPICH 5 aborts an all-reduction of no type
    call note(e)
    call MPI_Isend(in, 1, MPI_INTEGER, 99, 1, world, q, e)
    call note(e)
    call MPI_Comm_split(world, bad - 100, 0, own, e)
    call note(e)
    own = world
    call MPI_Comm_free(own, e)
    call note(e)
    call MPI_Barrier(world, e)
    call note(e)
  end subroutine
end program
