import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { CreateOrganization } from '../organizations/create-organization.tsx'
import { InviteMember } from '../organizations/invite-member.tsx'
import { Members } from '../organizations/members.tsx'
import { OrganizationTable } from '../organizations/organization-table.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { PageHeading } from '../ui/page-heading.tsx'

export function Organizations() {
  const trpc = useTRPC()
  const query = useQuery(trpc.organizations.list.queryOptions())
  return (
    <div className="stack">
      <PageHeading title="Organizations">
        Each session works in one organization. Switch to another one here.
      </PageHeading>
      <CreateOrganization />
      <Loaded query={query} what="organizations">
        {({ organizations, activeId }) => {
          const active = organizations.find(({ id }) => id === activeId)
          return (
            <>
              <OrganizationTable organizations={organizations} activeId={activeId} />
              {active && <Members name={active.name} />}
              {active && active.role !== 'member' && <InviteMember organization={active} />}
            </>
          )
        }}
      </Loaded>
    </div>
  )
}
