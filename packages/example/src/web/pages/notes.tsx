import { Card, Flex, Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { PageHeading } from '../ui/page-heading.tsx'

export function Notes() {
  const trpc = useTRPC()
  const { data = [] } = useQuery(trpc.notes.list.queryOptions())
  return (
    <>
      <PageHeading title="Notes">Yours alone, and live in all your browsers.</PageHeading>
      <Flex direction="column" gap="2">
        {data.map(({ id, text }) => (
          <Card key={id}>
            <Text>{text}</Text>
          </Card>
        ))}
      </Flex>
    </>
  )
}
