import { Callout } from '@radix-ui/themes'

/** What went wrong, for the user. Screen readers say it when it appears. */
export function Problem({ message }: { readonly message: string | false | null | undefined }) {
  return (
    <div role="alert">
      {message && (
        <Callout.Root color="red" size="1">
          <Callout.Text>{message}</Callout.Text>
        </Callout.Root>
      )}
    </div>
  )
}
