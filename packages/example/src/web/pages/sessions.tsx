import { Card, Flex, Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { PageHeading } from '../ui/page-heading.tsx'

export function Sessions() {
  const trpc = useTRPC()
  const { data } = useQuery(trpc.sessions.list.queryOptions())
  return (
    <>
      <PageHeading title="Sessions">
        Where you are signed in. A session that is revoked ends at once.
      </PageHeading>
      <Flex direction="column" gap="2">
        {data?.sessions.map(({ id, device }) => (
          <Card key={id}>
            <Text>{device}</Text>
          </Card>
        ))}
      </Flex>
    </>
  )
}
