import { PageHeading } from '../ui/page-heading.tsx'

export function Account() {
  return <PageHeading title="Account">…</PageHeading>
}
