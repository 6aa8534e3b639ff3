import { Text } from '@radix-ui/themes'

/** Confirms an action. Screen readers announce it. */
export function SuccessMessage({ message }: { readonly message: string | false }) {
  return (
    <Text as="p" size="2" color="green" role="status">
      {message}
    </Text>
  )
}
