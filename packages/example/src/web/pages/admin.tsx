import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { AuditTrail } from '../admin/audit-trail.tsx'
import { UserRow } from '../admin/user-row.tsx'
import { useTRPC } from '../clients.ts'
import { Field } from '../ui/field.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'
import { Rows } from '../ui/rows.tsx'
import { useLiveForAdmins } from '../use-live.ts'

/** Live: what anyone does shows here at once. */
export function Admin() {
  const trpc = useTRPC()
  const [text, setText] = useState('')
  const search = useDeferredValue(text.trim())
  const { data: users, error } = useQuery(
    trpc.admin.users.queryOptions(search === '' ? undefined : { search }, {
      placeholderData: keepPreviousData,
    }),
  )
  useLiveForAdmins()
  return (
    <div className="stack">
      <PageHeading title="Admin">
        Users, their sessions, and all that happens to them, live. The server guards each of it: a page is no
        protection.
      </PageHeading>
      <Problem error={error} />
      <Field
        label="Search"
        hint="Part of a name or an email."
        type="search"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {users && (
        <Rows title="Users" empty="No users found.">
          {users.map((user) => (
            <UserRow key={user.id} user={user} />
          ))}
        </Rows>
      )}
      <AuditTrail />
    </div>
  )
}
