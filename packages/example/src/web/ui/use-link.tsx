import { useMutation } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useState } from 'react'
import { useLocation } from 'react-router'
import { readLinkToken } from './link-token.ts'

const UsedLink = createContext<readonly [string | null, (hash: string) => void]>([null, () => {}])

/** Must be above `AuthProvider`: a link may end the user's session, which remounts everything below it. */
export const UsedLinkProvider = ({ children }: { readonly children: ReactNode }) => (
  <UsedLink value={useState<string | null>(null)}>{children}</UsedLink>
)

/** Returns a mutation that passes on the token in the page's URL. */
export function useLink<Input = void>(run: (token: string, input: Input) => Promise<unknown>) {
  const [used, setUsed] = use(UsedLink)
  const { hash } = useLocation()
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (input: Input) => {
      await run(readLinkToken(), input)
      setUsed(hash)
    },
  })
  return { mutate, isPending, error, isSuccess: used === hash }
}
