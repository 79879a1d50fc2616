import { type FormEvent, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { faultAt, otherFault } from '../../api/form-faults';
import { setUpText } from '../../text/set-up';
import { Button } from '../../ui/button';
import { Field } from '../../ui/field';
import { ShellLine } from '../../ui/shell-line';
import { useFaultFocus } from '../../ui/use-fault-focus';
import { useMakeLink } from './queries';

const words = setUpText.policy;
const DAY = 86_400_000;
const MOST_DAYS = 3_650;

export function LinkForm() {
  const [name, setName] = useState('First devices');
  const [uses, setUses] = useState('5');
  const [days, setDays] = useState('7');
  const make = useMakeLink();
  const isUsable = Number.isInteger(Number(days)) && Number(days) >= 1 && Number(days) <= MOST_DAYS;
  const daysFault = isUsable ? undefined : words.daysFault(MOST_DAYS);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (daysFault !== undefined) return;
    const expires = new Date(Date.now() + Number(days) * DAY).toISOString();
    make.mutate({ name: name.trim(), max_uses: Number(uses), expires_at: expires });
  };
  const form = useFaultFocus(make.error);
  const other = otherFault(make.error, ['name', 'max_uses', 'expires_at']);
  return (
    <form ref={form} className="set-up-part" onSubmit={submit}>
      <div className="set-up-fields">
        <Field
          label={words.name}
          value={name}
          onChange={setName}
          required
          autoComplete="off"
          error={faultAt(make.error, 'name')}
        />
        <Field
          label={words.uses}
          type="number"
          value={uses}
          onChange={setUses}
          required
          error={faultAt(make.error, 'max_uses')}
        />
        <Field
          label={words.days}
          type="number"
          value={days}
          onChange={setDays}
          required
          error={daysFault ?? faultAt(make.error, 'expires_at')}
        />
      </div>
      {other !== undefined && <ActionError error={other} />}
      <div>
        <Button type="submit" isPending={make.isPending}>
          {words.make}
        </Button>
      </div>
      <div role="status" className="set-up-part">
        {make.data?.url !== undefined && (
          <>
            <p>{words.made}</p>
            <ShellLine line={make.data.url} copy={setUpText.copy} copied={setUpText.copied} />
          </>
        )}
      </div>
    </form>
  );
}
