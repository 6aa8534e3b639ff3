import { Flex } from '@radix-ui/themes'
import { useTRPCClient } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import { useChange } from '../use-change.ts'

export function CreateOrganization() {
  const client = useTRPCClient()
  const create = useChange('organizations', (name: string) => client.organizations.create.mutate({ name }))
  return (
    <Form
      onFilled={(values, form) =>
        create.mutate(String(values.get('name')), { onSuccess: () => form?.reset() })
      }
    >
      <Flex gap="3" align="end">
        <Field label="New organization" name="name" autoComplete="organization" maxLength={100} required />
        <ActionButton type="submit" isPending={create.isPending}>
          Create
        </ActionButton>
      </Flex>
      <Problem error={create.error} />
    </Form>
  )
}
