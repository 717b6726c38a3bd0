! SPDX-License-Identifier: Apache-2.0
! The Fortran 77 binding (mpif.h): calls collectives and counts them and their bytes per communicator, as the C
! program mpi_calls does. Rank 0 prints.
program mpi_fortran_mpifh
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 100
  integer :: ierr, rank, ranks, world(2), half(2), half_comm, half_rank, half_ranks, copy_comm, request, requests(2)
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), next, before, i
  integer :: told(2), copy(2)
  logical :: done
  integer, allocatable :: a(:), b(:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate(a(n * ranks), b(n * ranks))
  a = rank
  b = 0
  world = 0
  half = 0
  copy = 0

  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call add(world, 0)
  call MPI_Bcast(a, n, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call add(world, 4 * n)
  do i = 1, 5
    call MPI_Allreduce(MPI_IN_PLACE, b, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call add(world, 4 * n)
  end do
  ! In place at the root: its own part counts by the receive arguments.
  if (rank == 0) then
    call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, b, n, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  else
    call MPI_Gather(a, n, MPI_INTEGER, b, n, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  end if
  call add(world, 4 * n * ranks)
  call MPI_Allgather(a, n, MPI_INTEGER, b, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call add(world, 4 * n * ranks)
  call MPI_Alltoall(a, n, MPI_INTEGER, b, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call add(world, 4 * n * ranks)
  call MPI_Reduce(a, b, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  call add(world, 4 * n)

  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half_comm, ierr)
  call MPI_Comm_rank(half_comm, half_rank, ierr)
  call MPI_Comm_size(half_comm, half_ranks, ierr)
  call MPI_Allreduce(a, b, n, MPI_INTEGER, MPI_SUM, half_comm, ierr)
  call add(half, 4 * n)
  call MPI_Iallreduce(a, b, n, MPI_INTEGER, MPI_SUM, half_comm, request, ierr)
  call add(half, 4 * n)
  call MPI_Wait(request, status, ierr)
  call MPI_Ibarrier(half_comm, request, ierr)
  call add(half, 0)
  done = .false.
  do while (.not. done)
    call MPI_Test(request, done, status, ierr)
  end do
  call MPI_Ibcast(a, n, MPI_INTEGER, 0, half_comm, requests(1), ierr)
  call add(half, 4 * n)
  call MPI_Ibarrier(half_comm, requests(2), ierr)
  call add(half, 0)
  call MPI_Waitall(2, requests, statuses, ierr)

  call MPI_Comm_dup(MPI_COMM_WORLD, copy_comm, ierr)
  call MPI_Barrier(copy_comm, ierr)
  call add(copy, 0)

  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call MPI_Sendrecv(a, n, MPI_INTEGER, next, 1, b, n, MPI_INTEGER, before, 1, MPI_COMM_WORLD, status, ierr)
  call MPI_Irecv(b, n, MPI_INTEGER, before, 2, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(a, n, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)

  if (rank == 1) call MPI_Send(half, 2, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, ierr)
  if (rank == 0) then
    call MPI_Recv(told, 2, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call tell('world', ranks, world)
    call tell('half-0', half_ranks, half)
    call tell('half-1', half_ranks, told)
    call tell('copy', ranks, copy)
  end if
  call MPI_Comm_free(half_comm, ierr)
  call MPI_Comm_free(copy_comm, ierr)
  call MPI_Finalize(ierr)

contains
  subroutine add(tally, bytes)
    integer, intent(inout) :: tally(2)
    integer, intent(in) :: bytes
    tally(1) = tally(1) + 1
    tally(2) = tally(2) + bytes
  end subroutine
  subroutine tell(name, size, tally)
    character(*), intent(in) :: name
    integer, intent(in) :: size, tally(2)
    print '(A,A,A,I0,A,I0,A,I0,A)', 'communicator ', name, ': ', size, ' ranks, ', tally(1), ' collectives, ', &
      tally(2), ' bytes'
  end subroutine
end program
