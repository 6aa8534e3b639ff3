import { Callout } from '@radix-ui/themes'
import { AuthClientError } from '@sallyport/trpc/client'

/** What went wrong, for the user. Screen readers say it when it appears. */
export function Problem({ error }: { readonly error: unknown }) {
  return (
    <div role="alert">
      {Boolean(error) && (
        <Callout.Root color="red" size="1">
          <Callout.Text>{messageOf(error)}</Callout.Text>
        </Callout.Root>
      )}
    </div>
  )
}

const FIELDS: Readonly<Record<string, string>> = {
  name: 'A name has 1 to 100 characters',
  email: 'This is no email address',
}

/** All that the server tells is meant for users; anything else is a defect of the page. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AuthClientError && error.code === 'INVALID_INPUT')
    return error.fields?.map((field) => FIELDS[field] ?? field).join('. ') ?? error.message
  // By that `fetch` tells that nobody has answered, each browser in words of its own.
  return error.cause instanceof TypeError ? 'No connection to the server' : error.message
}

/** An error for {@link Problem} where the password alone was asked for. */
export const problemOfPassword = (error: Error | null) =>
  error !== null && 'code' in error && error.code === 'INVALID_CREDENTIALS' ? 'The password is wrong' : error
