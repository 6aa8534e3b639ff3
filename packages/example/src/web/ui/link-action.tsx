import { Card, Link } from '@radix-ui/themes'
import { Link as RouterLink } from 'react-router'
import { ActionButton } from './action-button.tsx'
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
  /** Uses the token in the link. */
  readonly run: (token: string) => Promise<unknown>
}

/**
 * The page that the link of an email opens. A button uses the link: programs that scan emails open links,
 * too.
 */
export function LinkAction({ title, description, action, success, link = HOME_LINK, run }: LinkActionProps) {
  const { mutate, isPending, isSuccess, error } = useLink(run)
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
            <ActionButton isPending={isPending} onClick={() => mutate()}>
              {action}
            </ActionButton>
          )}
        </div>
      </Card>
    </div>
  )
}

const HOME_LINK = { to: '/', label: 'Go to the home page' }
