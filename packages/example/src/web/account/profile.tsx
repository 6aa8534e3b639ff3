import { Flex, Radio, Text } from '@radix-ui/themes'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useAppAuth, useTRPC } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'
import { SuccessMessage } from '../ui/success.tsx'

type Locale = 'en' | 'de'

const LANGUAGES = [
  { locale: 'en', name: 'English' },
  { locale: 'de', name: 'Deutsch' },
] as const

/** The name, and `locale`: a column that this app adds to the user and to the endpoint. */
export function Profile({ name, locale }: { readonly name: string; readonly locale: Locale }) {
  const { client } = useAppAuth()
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const update = useMutation({
    mutationFn: (values: FormData) =>
      client.api.updateUser({
        name: String(values.get('name')),
        locale: values.get('locale') === 'de' ? 'de' : 'en',
      }),
    onSuccess: () => queryClient.invalidateQueries(trpc.me.queryFilter()),
  })
  return (
    <Section title="Profile" hint="Your name, and the language of your reports.">
      <Form onFilled={(values) => update.mutate(values)}>
        <Field label="Name" name="name" autoComplete="name" defaultValue={name} maxLength={100} required />
        <fieldset className="choice">
          <Text as="span" size="2" weight="medium" asChild>
            <legend>Language of reports</legend>
          </Text>
          <Flex gap="4">
            {LANGUAGES.map((language) => (
              <Text as="label" size="2" key={language.locale} className="option">
                <Radio name="locale" value={language.locale} defaultChecked={language.locale === locale} />
                {language.name}
              </Text>
            ))}
          </Flex>
        </fieldset>
        <Problem error={update.error} />
        <Flex gap="3" align="center">
          <ActionButton type="submit" isPending={update.isPending}>
            Save
          </ActionButton>
          <SuccessMessage message={update.isSuccess && 'Saved.'} />
        </Flex>
      </Form>
    </Section>
  )
}
