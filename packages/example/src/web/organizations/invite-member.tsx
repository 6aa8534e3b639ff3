import { Flex } from '@radix-ui/themes'
import { useTRPCClient } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { DevelopmentHint } from '../ui/development-hint.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import { SelectField } from '../ui/select-field.tsx'
import { SuccessMessage } from '../ui/success.tsx'
import { useChange } from '../use-change.ts'

interface InviteMemberProps {
  /** The active organization, with the role of the caller. */
  readonly organization: { readonly name: string; readonly role: string }
}

/** For owners and admins. Only an owner can invite another owner. */
export function InviteMember({ organization: { name, role } }: InviteMemberProps) {
  const client = useTRPCClient()
  const invite = useChange('organizations', (input: { email: string; role: string }) =>
    client.organizations.invite.mutate(input),
  )
  const roles = role === 'owner' ? ['member', 'admin', 'owner'] : ['member', 'admin']
  return (
    <Form
      aria-label={`Invite to ${name}`}
      onFilled={(values, form) =>
        invite.mutate(
          { email: String(values.get('email')), role: String(values.get('role')) },
          { onSuccess: () => form?.reset() },
        )
      }
    >
      <Flex gap="3" align="end" wrap="wrap">
        <Field label="Email to invite" name="email" type="email" autoComplete="off" required />
        <SelectField label="Role" name="role">
          {roles.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <ActionButton type="submit" isPending={invite.isPending}>
          Invite
        </ActionButton>
      </Flex>
      <Problem error={invite.error} />
      <SuccessMessage message={invite.isSuccess && `Invited ${invite.variables.email}.`} />
      <DevelopmentHint>In development, the server prints the link to its terminal.</DevelopmentHint>
    </Form>
  )
}
