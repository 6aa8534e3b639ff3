import { Link } from '@radix-ui/themes'
import { Link as RouterLink } from 'react-router'
import { PageHeading } from '../ui/page-heading.tsx'
import { useTitle } from '../use-title.ts'

export function NotFound() {
  useTitle('Not found')
  return (
    <>
      <PageHeading title="Page not found">The link may be wrong, or the page may have moved.</PageHeading>
      <Link asChild underline="always">
        <RouterLink to="/">Go to the home page</RouterLink>
      </Link>
    </>
  )
}
