import { Text } from '@radix-ui/themes'

/** Takes the place of an empty list. */
export const Empty = ({ children }: { readonly children: string }) => (
  <Text as="p" size="2" color="gray" className="empty">
    {children}
  </Text>
)
