import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'react-router'
import { AuditFilterForm } from '../admin/audit-filter-form.tsx'
import { auditFilters } from '../admin/audit-filters.ts'
import { AuditTable } from '../admin/audit-table.tsx'
import { ConfirmToRead } from '../admin/confirm-to-read.tsx'
import { useTRPC } from '../clients.ts'
import { Empty } from '../ui/empty.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Paging } from '../ui/paging.tsx'
import { isCanceled } from '../ui/problem.tsx'
import { useLiveForAdmins } from '../use-live.ts'

/** The audit trail, live. The server returns it only to admins with a fresh session. */
export function Audit() {
  const trpc = useTRPC()
  const [search] = useSearchParams()
  const options = trpc.admin.audit.queryOptions(auditFilters(search), { placeholderData: keepPreviousData })
  const query = useQuery(options)
  useLiveForAdmins()
  return (
    <div className="stack">
      <PageHeading title="Audit trail">
        Sign-ins, revocations, bans, and other changes, newest first.
      </PageHeading>
      <AuditFilterForm />
      {isCanceled(query.error) ? (
        <ConfirmToRead options={options} />
      ) : (
        <Loaded query={query} what="the audit trail">
          {({ records, nextCursor }) => (
            <>
              {records.length === 0 ? (
                <Empty>No records match these filters.</Empty>
              ) : (
                <AuditTable records={records} />
              )}
              <Paging count={records.length} nextCursor={nextCursor} title="Records" />
            </>
          )}
        </Loaded>
      )}
    </div>
  )
}
