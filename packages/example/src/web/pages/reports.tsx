import { PageHeading } from '../ui/page-heading.tsx'

export function Reports() {
  return <PageHeading title="Reports">…</PageHeading>
}
