import { type FormEvent, useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { faultAt, otherFault } from '../../../api/form-faults';
import { useMay } from '../../../api/rights';
import { settingsText } from '../../../text/settings';
import { Button } from '../../../ui/button';
import { Facts } from '../../../ui/facts';
import { Field } from '../../../ui/field';
import { useFaultFocus } from '../../../ui/use-fault-focus';
import { NeedsRole } from '../needs-role';
import { type OrganizationChange, useSaveOrganization } from './queries';

const words = settingsText.organization;
const NAMES = ['name', 'payload_prefix', 'x509_o', 'x509_ou', 'x509_st', 'x509_c'] as const;
const OPERATION = 'updateOrganization';

type Name = (typeof NAMES)[number];
type Values = Record<Name, string>;

export function OrganizationForm({ organization }: { organization: OrganizationChange }) {
  const [typed, setTyped] = useState<Partial<Values>>({});
  const save = useSaveOrganization();
  const form = useFaultFocus(save.error);
  const canSave = useMay()(OPERATION);
  const values = Object.fromEntries(
    NAMES.map((name) => [name, typed[name] ?? organization[name] ?? '']),
  ) as Values;
  const changed = NAMES.filter((name) => values[name] !== (organization[name] ?? ''));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const entries = changed.map((name) => [name, values[name] === '' ? null : values[name]]);
    save.mutate(Object.fromEntries(entries) as OrganizationChange, {
      onSuccess: () => setTyped({}),
    });
  };
  const other = otherFault(save.error, NAMES);
  if (!canSave) {
    return (
      <>
        <Facts entries={NAMES.map((name) => [words.labels[name], values[name] || '–'])} />
        <NeedsRole operation={OPERATION} least="admin">
          {null}
        </NeedsRole>
      </>
    );
  }
  return (
    <form ref={form} className="settings-form" onSubmit={submit}>
      {NAMES.map((name) => (
        <Field
          key={name}
          label={words.labels[name]}
          value={values[name]}
          onChange={(value) => setTyped((former) => ({ ...former, [name]: value }))}
          hint={words.hints[name]}
          autoComplete="off"
          error={faultAt(save.error, name)}
        />
      ))}
      {other !== undefined && <ActionError error={other} />}
      <div className="settings-buttons">
        <Button
          kind="main"
          type="submit"
          isPending={save.isPending}
          isDisabled={changed.length === 0}
        >
          {words.save}
        </Button>
        <span role="status" className="soft">
          {save.isSuccess && changed.length === 0 ? words.saved : ''}
        </span>
      </div>
    </form>
  );
}
