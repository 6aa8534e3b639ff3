import { Callout } from '@radix-ui/themes'
import { AuthClientError } from '@sallyport/trpc/client'
import { useHasRecovered } from '../connection.ts'
import { inputMessage } from './input-message.ts'

/** An error, which screen readers announce. Hidden when it no longer applies. */
export function Problem({ error }: { readonly error: unknown }) {
  const hasRecovered = useHasRecovered(error)
  const isShown = Boolean(error) && !isCanceled(error) && !(hasRecovered && isDisconnected(error))
  return (
    <div role="alert">
      {isShown && (
        <Callout.Root color="red" size="1">
          <Callout.Text>{messageOf(error)}</Callout.Text>
        </Callout.Root>
      )}
    </div>
  )
}

/** The user canceled the dialog: the original error remains. */
export function isCanceled(error: unknown): boolean {
  const { code, data }: { code?: unknown; data?: { auth?: { reason?: unknown } | null } } = Object(error)
  return [code, data?.auth?.reason].some(
    (reason) => reason === 'SESSION_NOT_FRESH' || reason === 'FACTOR_REQUIRED',
  )
}

/** Browsers reject with a TypeError if there was no response, each with another text. */
const isDisconnected = (error: unknown): boolean => error instanceof Error && error.cause instanceof TypeError

/** The server's messages are meant for users. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AuthClientError && error.code === 'INVALID_INPUT') return inputMessage(error.fields)
  return isDisconnected(error) ? 'No connection to the server' : error.message
}
