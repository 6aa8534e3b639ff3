import { Link, Table as RadixTable } from '@radix-ui/themes'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link as RouterLink, useSearchParams } from 'react-router'
import type { ListedUser } from '../admin/admin-user.ts'
import { Status } from '../admin/status.tsx'
import { userFilters } from '../admin/user-filters.ts'
import { useTRPC } from '../clients.ts'
import { Empty } from '../ui/empty.tsx'
import { Field } from '../ui/field.tsx'
import { FilterForm } from '../ui/filter-form.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Paging } from '../ui/paging.tsx'
import { Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useLiveForAdmins } from '../use-live.ts'

/** The users, live. */
export function Admin() {
  const trpc = useTRPC()
  const [search] = useSearchParams()
  const filters = userFilters(search)
  const query = useQuery(trpc.admin.users.queryOptions(filters, { placeholderData: keepPreviousData }))
  useLiveForAdmins()
  return (
    <div className="stack">
      <PageHeading title="Users">
        Newest first. Open a user to change their role, ban, or sessions.
      </PageHeading>
      <FilterForm action="Search">
        <Field
          label="Name or email"
          name="search"
          type="search"
          maxLength={320}
          defaultValue={filters.search}
        />
      </FilterForm>
      <Loaded query={query} what="users">
        {({ users, nextCursor }) => (
          <>
            {users.length === 0 && <Empty>No users found.</Empty>}
            {users.length > 0 && <UserTable users={users} />}
            <Paging count={users.length} nextCursor={nextCursor} title="Users" />
          </>
        )}
      </Loaded>
    </div>
  )
}

function UserTable({ users }: { readonly users: readonly ListedUser[] }) {
  return (
    <Table label="Users" columns={['Email', 'Name', 'Status', 'Created']}>
      {users.map((user) => (
        <RadixTable.Row key={user.id}>
          <RadixTable.RowHeaderCell>
            <Link asChild underline="always">
              <RouterLink to={`/admin/users/${user.id}`}>{user.email}</RouterLink>
            </Link>
          </RadixTable.RowHeaderCell>
          <RadixTable.Cell>{user.name}</RadixTable.Cell>
          <RadixTable.Cell>
            <Status user={user} />
          </RadixTable.Cell>
          <RadixTable.Cell>
            <Time value={user.createdAt} />
          </RadixTable.Cell>
        </RadixTable.Row>
      ))}
    </Table>
  )
}
