import { Button } from '@radix-ui/themes'
import type { ComponentProps } from 'react'
import { useAppAuth } from '../clients.ts'
import { Form } from './form.tsx'

/** A button that signs out, also without JavaScript. */
export function SignOut(button: Pick<ComponentProps<typeof Button>, 'size'>) {
  const { signOut } = useAppAuth()
  return (
    <Form postTo="/sign-out" onFilled={() => void signOut()}>
      <Button {...button} type="submit" variant="soft" color="gray">
        Sign out
      </Button>
    </Form>
  )
}
