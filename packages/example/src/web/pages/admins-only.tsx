import { Button, Flex, Link } from '@radix-ui/themes'
import { Link as RouterLink } from 'react-router'
import { useAppAuth } from '../clients.ts'
import { PageHeading } from '../ui/page-heading.tsx'

/** Takes the place of a page for admins. */
export function AdminsOnly({ title }: { readonly title: string }) {
  const { signOut } = useAppAuth()
  return (
    <>
      <PageHeading title={title}>Admins only. Sign in with an admin account to view this page.</PageHeading>
      <Flex gap="4" align="center">
        <Link asChild underline="always">
          <RouterLink to="/">Go to the home page</RouterLink>
        </Link>
        <Button variant="soft" color="gray" onClick={() => void signOut()}>
          Sign out
        </Button>
      </Flex>
    </>
  )
}
