import { Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'

/** A hint that appears only in development, as the demo users do. */
export function DevelopmentHint({ children }: { readonly children: string }) {
  const trpc = useTRPC()
  const { data: demo } = useQuery(trpc.demo.queryOptions())
  if (!demo) return null
  return (
    <Text as="p" size="2" color="gray">
      {children}
    </Text>
  )
}
