! SPDX-License-Identifier: Apache-2.0
! The calls that ignored_fortran.F90 leaves out, in both of Fortran's bindings (mpi_f08 with -DF08, else mpif.h): every
! other function that is wrapped, with the arguments that MPI ignores there out of range, null, or in a page that nobody
! may read; persistent, non-blocking and refused calls, and all ways to complete a request. Rank 0 prints what each call
! returned on all ranks, and what they computed. 4 ranks. -DOMPI_MAJOR_VERSION or -DMPICH_NUMVERSION: which library.
#if defined(F08)
#define COMM type(MPI_Comm)
#define GROUP type(MPI_Group)
#define MESSAGE type(MPI_Message)
#define REQUEST type(MPI_Request)
#define STATUS type(MPI_Status)
#define STATUSES(N) dimension(N)
#define TYPE type(MPI_Datatype)
#else
#define COMM integer
#define GROUP integer
#define MESSAGE integer
#define REQUEST integer
#define STATUS integer
#define STATUSES(N) dimension(MPI_STATUS_SIZE, N)
#define TYPE integer
#endif
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#define PREPARED(Name) MPIX_/**/Name/**/_init
#else
#define PREPARED(Name) MPI_/**/Name/**/_init
#define ALL_OF_MPI_4
#endif
! Lists of types that the binding itself converts must be there: in Open MPI those of neighbours, in the mpi_f08 of MPICH and
! of Open MPI 5 all.
#if defined(F08) && (defined(MPICH_NUMVERSION) || OMPI_MAJOR_VERSION >= 5)
#define NO_TYPES nones
#define NO_TYPES_IN_PLACE nones
#elif defined(MPICH_NUMVERSION)
#define NO_TYPES no_types
#define NO_TYPES_IN_PLACE no_types
#else
#define NO_TYPES nones
#define NO_TYPES_IN_PLACE no_types
#endif
! Open MPI 5.0.7 (and 6.0.0rc2) makes a handle of a request or communicator that a refused call did not give (Iscatterv, Iallgatherv,
! Ialltoallw, Ireduce_scatter, Cart_sub), and its persistent Alltoallv writes beside the list of what it releases with the
! request: valgrind says both.
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define CONVERTS_WHAT_IT_WAS_NOT_GIVEN
#define BREAKS_PREPARED_EXCHANGES
#endif
! The mpi_f08 of Open MPI 6.0.0rc2 does not know MPI_IN_PLACE again (Ialltoall reads from it, Allgatherv_init releases a type that
! it did not make), and without that part the job ends inside MPI_Finalize: there is nothing to compare with.
#if defined(F08) && defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 6
#define BREAKS_WITHOUT_US
#endif
program more
  use, intrinsic :: iso_c_binding
#if defined(F08)
  use mpi_f08
#if !defined(ALL_OF_MPI_4)
  use mpi_f08_ext
#endif
#endif
  implicit none
#if !defined(F08)
  include 'mpif.h'
#endif
  interface
#include "mmap.inc"
    function usleep(microseconds) bind(c) result(code)
      import :: c_int
      integer(c_int), value :: microseconds
      integer(c_int) :: code
    end function
  end interface
  integer, parameter :: n = 3, bad = -7, most = 4000, most_parts = 30, room = 65536
  type(c_ptr) :: page
  ! The same page, as what a call wants there.
  integer, pointer, contiguous :: poison(:)
  logical, pointer, contiguous :: no_flags(:)
  integer(MPI_ADDRESS_KIND), pointer, contiguous :: no_places(:)
  REQUEST, pointer, contiguous :: no_requests(:)
  TYPE, pointer, contiguous :: no_types(:)
#if defined(F08)
  STATUS, pointer, contiguous :: no_statuses(:)
#else
  STATUS, pointer, contiguous :: no_statuses(:, :)
#endif
  integer :: told(most), used, ends(most_parts), parts, finished
  character(len=24) :: titles(most_parts)
  integer :: i, r, from, rank, ierr, provided, in(64), out(64), ones(4), places(4), zeros(4), byte_places(4)
  integer(MPI_ADDRESS_KIND) :: wide_places(4)
  character(len=room) :: attached
  TYPE :: none, number, numbers(4), nones(4)
  COMM :: world, half, both, copy
  logical :: first

#if defined(BREAKS_WITHOUT_US)
  stop 77
#endif
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided, ierr)
  world = MPI_COMM_WORLD
  none = MPI_DATATYPE_NULL
  number = MPI_INTEGER
  call MPI_Comm_rank(world, rank, ierr)
  page = mmap(c_null_ptr, 4096_c_size_t, 0, int(z'22'), -1, 0_c_long)  ! private, anonymous, no access
  call c_f_pointer(page, poison, [1024])
  call c_f_pointer(page, no_flags, [4])
  call c_f_pointer(page, no_places, [4])
  call c_f_pointer(page, no_requests, [4])
  call c_f_pointer(page, no_types, [4])
#if defined(F08)
  call c_f_pointer(page, no_statuses, [4])
#else
  call c_f_pointer(page, no_statuses, [MPI_STATUS_SIZE, 4])
#endif
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
  call MPI_Buffer_attach(attached, room, ierr)
  used = 0
  parts = 0
  finished = 0
  in = rank + 1
  ones = n
  zeros = 0
  places = [0, n, 2 * n, 3 * n]
  byte_places = 4 * places
  wide_places = byte_places
  numbers = number
  nones = none

  call part('rooted')
  call rooted(world)
  call part('in place')
  call in_place(world)
  call part('nothing')
  call nothing(world)
  call part('neighbours')
  call neighbours(world)
  call part('messages')
  call nobody(world)
  call around(world, modulo(rank + 1, 4), modulo(rank - 1, 4))
  call to_oneself

  call part('between')
  first = rank < 2
  call MPI_Comm_split(world, merge(1, 0, first), 0, half, ierr); call note(ierr)
  ! The other group's leader is for the leader alone.
  if (mod(rank, 2) == 0) then
    call MPI_Intercomm_create(half, 0, world, merge(2, 0, first), 7, both, ierr); call note(ierr)
  else
    call MPI_Intercomm_create(half, 0, MPI_COMM_NULL, bad, 7, both, ierr); call note(ierr)
  end if
  call MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN, ierr)
  ! A copy each: where MPI_PROC_NULL takes part, Open MPI 4 loses count of its non-blocking operations.
  do i = 1, 3
    call MPI_Comm_dup(both, copy, ierr); call note(ierr)
    if (i < 3) then
      call between(copy, (i == 1) .eqv. first)
    else
      call between_all(copy)
    end if
    call MPI_Comm_free(copy, ierr); call note(ierr)
  end do
  call part('messages between')
  call nobody(both)
  call around(both, mod(rank, 2), mod(rank, 2))
  call part('made between')
  call made_of_two(both)
  call MPI_Comm_disconnect(both, ierr); call note(ierr)
  call MPI_Comm_free(half, ierr); call note(ierr)

  call part('made')
  call made_of(world)
  call part('no request')
  call no_request(.false.)
  call no_request(.true.)
  call part('inactive')
  call inactive
#if !(defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000) && !defined(CONVERTS_WHAT_IT_WAS_NOT_GIVEN)
  ! MPICH 5 runs the handler of errors and returns MPI_SUCCESS, without a request.
  call part('refused')
  call refused_communicators
  call refused_collectives(MPI_COMM_NULL, n, 0)
  call refused_collectives(world, bad, 0)
  call refused_collectives(world, n, 99)
  call refused_neighbours(MPI_COMM_NULL)
  call refused_neighbours(world)
  call refused_messages(MPI_COMM_NULL, 0)
  call refused_messages(world, 99)
  call refused_requests
#endif
#if defined(F08)
  call part('no error')
  call no_error
#endif
  call part('end')
  call MPI_Barrier(world, ierr); call note(ierr)
  call part('')

  do r = 0, 3
    if (r == rank .and. rank /= 0) then
      call MPI_Send(told, most, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, ierr)
      call MPI_Send(ends, most_parts, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, ierr)
    end if
    if (rank /= 0) cycle
    if (r /= 0) then
      call MPI_Recv(told, most, MPI_INTEGER, r, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call MPI_Recv(ends, most_parts, MPI_INTEGER, r, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    end if
    from = 1
    do i = 1, parts
      print '(A,I0,3A,I0)', 'rank ', r, ' ', trim(titles(i)), ': ', ends(i) - from + 1
      print '(20(I0,1X))', told(from:ends(i))
      from = ends(i) + 1
    end do
  end do
  call MPI_Finalize(ierr)

contains
  ! Ends a part with the sum of what it computed, and begins another.
  subroutine part(title)
    character(len=*), intent(in) :: title
    if (parts > 0) then
      call tell(sum(out))
      ends(parts) = used
    end if
    out = rank
    if (title == '') return
    parts = parts + 1
    titles(parts) = title
  end subroutine
  subroutine tell(value)
    integer, intent(in) :: value
    used = used + 1
    told(used) = value
  end subroutine
  subroutine note(code)
    integer, intent(in) :: code
    integer :: class, e
    class = MPI_SUCCESS
    if (code /= MPI_SUCCESS) call MPI_Error_class(code, class, e)
    call tell(class)
  end subroutine

  ! Completes a request, each in another way than the one before. Who polls without a pause is not recorded any more.
  subroutine complete(request)
    REQUEST, intent(inout) :: request
    REQUEST :: two(2)
    integer :: e, found, list(2), way
    logical :: done
    two(1) = MPI_REQUEST_NULL
    two(2) = request
    finished = finished + 1
    way = mod(finished, 8)
    do
      done = .true.
      found = 0
      list = 0
      select case (way)
      case (0)
        call MPI_Wait(two(2), MPI_STATUS_IGNORE, e)
      case (1)
        call MPI_Waitall(2, two, MPI_STATUSES_IGNORE, e)
      case (2)
        call MPI_Waitany(2, two, found, MPI_STATUS_IGNORE, e)
      case (3)
        call MPI_Waitsome(2, two, found, list, MPI_STATUSES_IGNORE, e)
      case (4)
        call MPI_Test(two(2), done, MPI_STATUS_IGNORE, e)
      case (5)
        call MPI_Testall(2, two, done, MPI_STATUSES_IGNORE, e)
      case (6)
        call MPI_Testany(2, two, found, done, MPI_STATUS_IGNORE, e)
      case (7)
        call MPI_Testsome(2, two, found, list, MPI_STATUSES_IGNORE, e)
        done = found /= 0
      end select
      if (done .or. e /= MPI_SUCCESS) exit
      ierr = usleep(1000)
    end do
    call note(e)
    call tell(found)
    call tell(list(1))
    request = two(2)
  end subroutine
  subroutine finish(request, code)
    REQUEST, intent(inout) :: request
    integer, intent(in) :: code
    call note(code)
    if (code == MPI_SUCCESS) call complete(request)
  end subroutine
  ! A persistent one is started twice, or `once`.
  subroutine repeat(request, code, once)
    REQUEST, intent(inout) :: request
    integer, intent(in) :: code
    logical, intent(in), optional :: once
    REQUEST :: one(1)
    integer :: e
    call note(code)
    if (code /= MPI_SUCCESS) return
    one(1) = request
    call MPI_Start(one(1), e); call finish(one(1), e)
    if (.not. present(once)) then
      call MPI_Startall(1, one, e); call finish(one(1), e)
    end if
    call MPI_Request_free(one(1), e); call note(e)
    request = one(1)
  end subroutine

#include "collectives.inc"
#include "between.inc"
#include "messages.inc"
#include "communicators.inc"
#include "refused.inc"
end program
