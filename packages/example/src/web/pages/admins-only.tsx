import { Flex, Link } from '@radix-ui/themes'
import { Link as RouterLink } from 'react-router'
import { PageHeading } from '../ui/page-heading.tsx'
import { SignOut } from '../ui/sign-out.tsx'

/** Takes the place of a page for admins. */
export function AdminsOnly({ title }: { readonly title: string }) {
  return (
    <>
      <PageHeading title={title}>Admins only. Sign in with an admin account to view this page.</PageHeading>
      <Flex gap="4" align="center">
        <Link asChild underline="always">
          <RouterLink to="/">Go to the home page</RouterLink>
        </Link>
        <SignOut />
      </Flex>
    </>
  )
}
