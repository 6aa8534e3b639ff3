import { Text } from '@radix-ui/themes'

/** What has been done, for the user. Screen readers say it when it appears. */
export function Done({ message }: { readonly message: string | false }) {
  return (
    <Text as="p" size="2" color="green" role="status">
      {message}
    </Text>
  )
}
