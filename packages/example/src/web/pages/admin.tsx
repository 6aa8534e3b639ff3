import { PageHeading } from '../ui/page-heading.tsx'

export function Admin() {
  return <PageHeading title="Admin">…</PageHeading>
}
