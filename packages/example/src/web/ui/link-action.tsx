import { Card, Link, Text } from '@radix-ui/themes'
import { AuthClientError } from '@sallyport/trpc/client'
import { useState } from 'react'
import { Link as RouterLink } from 'react-router'
import { ActionButton } from './action-button.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { GuestLink } from './guest-link.tsx'
import { PageHeading } from './page-heading.tsx'
import { Problem } from './problem.tsx'
import { SuccessMessage } from './success.tsx'
import { useLink } from './use-link.tsx'

interface LinkActionProps {
  readonly title: string
  readonly description: string
  /** The label of the button. */
  readonly action: string
  readonly success: string
  /** The link after it. @default the home page */
  readonly link?: { readonly to: string; readonly label: string }
  /** Uses the token in the link. Gets a password once the server has asked for it. */
  readonly run: (token: string, input: { password?: string }) => Promise<unknown>
}

/**
 * The page that the link of an email opens. A button uses the link: programs that scan emails open links,
 * too.
 */
export function LinkAction({ title, description, action, success, link = HOME_LINK, run }: LinkActionProps) {
  const [asksPassword, setAsksPassword] = useState(false)
  const { mutate, isPending, isSuccess, error } = useLink((token, values: FormData) => {
    const input = asksPassword ? { password: String(values.get('password')) } : {}
    return run(token, input).catch((error: unknown) => {
      if (error instanceof AuthClientError && error.code === 'INVALID_CREDENTIALS') setAsksPassword(true)
      throw error
    })
  })
  return (
    <div className="narrow">
      <PageHeading title={title}>{description}</PageHeading>
      <Card size="3">
        <div className="stack">
          <Problem error={error} />
          <SuccessMessage message={isSuccess && success} />
          {isSuccess ? (
            <Link asChild size="2" underline="always">
              <RouterLink to={link.to}>{link.label}</RouterLink>
            </Link>
          ) : (
            <Form onFilled={(values) => mutate(values)}>
              {asksPassword && <AccountPassword />}
              <ActionButton type="submit" isPending={isPending}>
                {action}
              </ActionButton>
            </Form>
          )}
        </div>
      </Card>
    </div>
  )
}

const HOME_LINK = { to: '/', label: 'Go to the home page' }

/** Shown in a browser that the account doesn't know: a stranger may have entered the user's address. */
const AccountPassword = () => (
  <>
    <Field
      label="Password"
      name="password"
      type="password"
      autoComplete="current-password"
      autoFocus
      required
    />
    <Text as="p" size="2">
      <GuestLink to="/sign-in">Sign in</GuestLink>
      {' · '}
      <GuestLink to="/forgot-password">Forgot password?</GuestLink>
    </Text>
  </>
)
