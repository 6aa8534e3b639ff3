import { Flex } from '@radix-ui/themes'
import { openPopup, type PopupPages } from '@sallyport/trpc/client'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useWaysToSignIn } from '../account/use-ways-to-sign-in.ts'
import { useAppAuth, useTRPC } from '../clients.ts'
import { askForPasskey } from '../passkey-prompt.ts'
import { rejectPlainly } from '../provider-result.ts'
import { ActionButton } from './action-button.tsx'
import { Problem } from './problem.tsx'

/** The buttons of the confirm dialog for passkeys, the provider, and a user without an account. */
export function ConfirmOtherwise() {
  const { required, confirm } = useSensitive()
  const { client } = useAppAuth()
  const { accounts = [], passkeys = [] } = useWaysToSignIn().data ?? {}
  const withPasskey = useMutation({
    mutationFn: async () => {
      const response = await askForPasskey(await client.api.createPasskeyReauthenticationOptions())
      await confirm(() => client.api.reauthenticatePasskey({ response }))
    },
  })
  const atProvider = useMutation({
    mutationFn: async () => {
      const begin = (pages: PopupPages) => client.api.reauthenticateOauth({ provider: 'demo', ...pages })
      await openPopup(client, begin).catch(rejectPlainly)
      await confirm(async () => {})
    },
  })
  const trpc = useTRPC()
  const { data: me } = useQuery(trpc.me.queryOptions())
  const withoutAccount = useMutation({
    mutationFn: () => confirm(() => client.api.reauthenticateAnonymous()),
  })
  const factor = required?.factor ?? null
  return (
    <>
      <Problem error={withPasskey.error ?? atProvider.error ?? withoutAccount.error} />
      <Flex gap="3" mb="4" wrap="wrap">
        {passkeys.length > 0 && factor !== 'totp' && (
          <ActionButton variant="soft" isPending={withPasskey.isPending} onClick={() => withPasskey.mutate()}>
            Use a passkey
          </ActionButton>
        )}
        {accounts.some(({ provider }) => provider === 'demo') && factor === null && (
          <ActionButton variant="soft" isPending={atProvider.isPending} onClick={() => atProvider.mutate()}>
            Confirm at the demo provider
          </ActionButton>
        )}
        {me?.isAnonymous && factor === null && (
          <ActionButton isPending={withoutAccount.isPending} onClick={() => withoutAccount.mutate()}>
            Continue
          </ActionButton>
        )}
      </Flex>
    </>
  )
}
