! SPDX-License-Identifier: Apache-2.0
! The halo exchange of stencil.c in Fortran, with the same arguments: MODE STEPS WORK_US [RANK EXTRA_US [EVERY [HALT]]].
! MODE: waitall, sendrecv, or grid (Waitall with up to four neighbours of an open grid). HALT: RANK sleeps for ever in that step.
program stencil
  use iso_c_binding
  implicit none
  include 'mpif.h'
  interface
    function usleep(us) bind(c, name='usleep')
      import :: c_int
      integer(c_int), value :: us
      integer(c_int) :: usleep
    end function
    function getpid() bind(c, name='getpid')
      import :: c_int
      integer(c_int) :: getpid
    end function
  end interface
  integer, parameter :: cells = 256
  double precision :: out_left(cells), out_right(cells), in_left(cells), in_right(cells), total, begin
  character(len=32) :: mode
  integer :: steps, work, uneven, extra, every, halt, rank, ranks, left, right, step, ierr, ignored
  integer :: requests(8), i
  integer :: grid, sides(2), neighbours(4)
  logical, parameter :: open(2) = .false.
  double precision :: edges(cells, 4), halos(cells, 4)
  call MPI_Init(ierr)
  call get_command_argument(1, mode)
  steps = argument(2, 100)
  work = argument(3, 1000)
  uneven = argument(4, -1)
  extra = argument(5, 0)
  every = argument(6, 0)
  halt = argument(7, 0)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  write (*, '(A,I0,A,I0)') 'rank ', rank, ' pid ', getpid()
  flush (6)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  edges = rank
  grid = MPI_COMM_NULL
  if (mode == 'grid') then
    sides = 0
    call MPI_Dims_create(ranks, 2, sides, ierr)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, sides, open, .false., grid, ierr)
    call MPI_Cart_shift(grid, 0, 1, neighbours(1), neighbours(2), ierr)
    call MPI_Cart_shift(grid, 1, 1, neighbours(3), neighbours(4), ierr)
  end if
  out_left = rank
  out_right = rank
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  begin = MPI_Wtime()
  do step = 1, steps
    if (rank == uneven .and. step == halt) then
      write (*, '(A)') 'halt'
      flush (6)
      do
        ignored = usleep(500000)
      end do
    end if
    if (rank == uneven) then
      ignored = usleep(work + extra)
    else
      ignored = usleep(work)
    end if
    if (mode == 'grid') then
      do i = 1, 4
        call MPI_Irecv(halos(1, i), cells, MPI_DOUBLE_PRECISION, neighbours(i), ieor(i - 1, 1), grid, requests(i), ierr)
      end do
      do i = 1, 4
        call MPI_Isend(edges(1, i), cells, MPI_DOUBLE_PRECISION, neighbours(i), i - 1, grid, requests(4 + i), ierr)
      end do
      call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE, ierr)
    else if (mode == 'sendrecv') then
      call MPI_Sendrecv(out_right, cells, MPI_DOUBLE_PRECISION, right, 1, in_left, cells, MPI_DOUBLE_PRECISION, left, 1, &
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call MPI_Sendrecv(out_left, cells, MPI_DOUBLE_PRECISION, left, 2, in_right, cells, MPI_DOUBLE_PRECISION, right, 2, &
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    else
      call MPI_Irecv(in_left, cells, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1), ierr)
      call MPI_Irecv(in_right, cells, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, requests(2), ierr)
      call MPI_Isend(out_right, cells, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, requests(3), ierr)
      call MPI_Isend(out_left, cells, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, requests(4), ierr)
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    end if
    if (every > 0) then
      if (mod(step, every) == 0) &
        call MPI_Allreduce(in_left, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    end if
  end do
  if (rank == 0) write (*, '(F0.6,A)') MPI_Wtime() - begin, ' s'
  call MPI_Finalize(ierr)
contains
  integer function argument(at, otherwise)
    integer, intent(in) :: at, otherwise
    character(len=32) :: text
    argument = otherwise
    call get_command_argument(at, text)
    if (len_trim(text) > 0) read (text, *) argument
  end function
end program
