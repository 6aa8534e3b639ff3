import { useSearchParams } from 'react-router'
import { Field } from '../ui/field.tsx'
import { FilterForm } from '../ui/filter-form.tsx'
import { SelectField } from '../ui/select-field.tsx'
import { auditFilters } from './audit-filters.ts'
import { AUDIT_TYPES } from './audit-types.ts'

export function AuditFilterForm() {
  const [search] = useSearchParams()
  const { type, user, from, to } = auditFilters(search)
  return (
    <FilterForm action="Filter">
      {/* React doesn't change the default of a select. */}
      <SelectField key={type} label="Type" name="type" defaultValue={type}>
        <option value="">All</option>
        {AUDIT_TYPES.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </SelectField>
      <Field label="User" name="user" placeholder="Email or id" maxLength={320} defaultValue={user} />
      <Field label="From (UTC)" name="from" type="date" defaultValue={from} />
      <Field label="To (UTC)" name="to" type="date" defaultValue={to} />
    </FilterForm>
  )
}
