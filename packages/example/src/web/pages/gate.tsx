import { PageHeading } from '../ui/page-heading.tsx'

export function Gate() {
  return <PageHeading title="Gate">…</PageHeading>
}
