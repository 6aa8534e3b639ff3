import { Button, Flex, Separator } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from './clients.ts'
import { Form } from './ui/form.tsx'

interface DemoSignInProps {
  /** The page to open after a sign-in without JavaScript. */
  readonly next: string
  readonly onFilled: (values: FormData) => void
}

/** A button for each demo user. The server has none in production. */
export function DemoSignIn({ next, onFilled }: DemoSignInProps) {
  const trpc = useTRPC()
  const { data: demo } = useQuery(trpc.demo.queryOptions())
  if (!demo) return null
  return (
    <>
      <Separator size="4" my="4" />
      <Flex gap="3" wrap="wrap">
        {demo.users.map(({ name, email }) => (
          <Form key={email} className="" postTo="/sign-in" onFilled={onFilled}>
            <input type="hidden" name="next" value={next} />
            <input type="hidden" name="email" value={email} />
            <input type="hidden" name="password" value={demo.password} />
            <Button type="submit" variant="soft">
              {`Sign in as ${name}`}
            </Button>
          </Form>
        ))}
      </Flex>
    </>
  )
}
