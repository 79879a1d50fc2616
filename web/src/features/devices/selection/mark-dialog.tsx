import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { isApiError } from '../../../api/errors';
import { faultAt, otherFault } from '../../../api/form-faults';
import { Part } from '../../../api/part';
import { marksText as words } from '../../../text/marks';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { Choice, Field } from '../../../ui/field';
import { isTypedCount, TypedCount } from '../../../ui/typed-count';
import { useFaultFocus } from '../../../ui/use-fault-focus';
import { type Direction, type Mark, type MarkType, marksQuery, useMark } from './marks';
import { countOf, type Target } from './target';

interface Props {
  target: Target;
  onClose: () => void;
  onDone: (result: string) => void;
}

const NEW = 'new';

/** Adds devices to a tag or a static group, or removes them from it. */
export function MarkDialog({ target, onClose, onDone }: Props) {
  const marks = useQuery(marksQuery);
  const [direction, setDirection] = useState<Direction>('add');
  const [type, setType] = useState<MarkType>('tags');
  const [chosen, setChosen] = useState('');
  const [newName, setNewName] = useState('');
  const [confirm, setConfirm] = useState<number>();
  const [typed, setTyped] = useState('');
  const change = useMark();
  const form = useFaultFocus(change.error);
  const count = confirm ?? countOf(target);
  const rows = marks.data?.[type] ?? [];
  const isListed = rows.some(({ id }) => String(id) === chosen);
  const isOnlyNew = marks.data !== undefined && rows.length === 0;
  const isNewChosen = (chosen === NEW || isOnlyNew) && direction === 'add';
  const value = isListed ? chosen : isNewChosen ? NEW : '';
  const isNew = value === NEW;
  const name = isNew ? newName.trim() : (rows.find(({ id }) => String(id) === value)?.name ?? '');
  const isConfirmed = confirm === undefined || isTypedCount(typed, confirm);
  const canSend = name !== '' && isConfirmed && !(isNew && direction === 'remove');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!canSend) return;
    const mark: Mark = { type, id: isNew ? undefined : Number(value), name };
    const onSuccess = () => onDone(words.done[direction](count, name));
    const onError = (error: Error) => {
      if (isApiError(error, 'confirmation_required')) setConfirm(error.faults[0]?.meta?.confirm);
    };
    change.mutate({ mark, direction, target, confirm }, { onSuccess, onError });
  };
  const isAsked = isApiError(change.error, 'confirmation_required');
  const other = isAsked ? undefined : otherFault(change.error, isNew ? ['name'] : []);
  const options = [
    ...(rows.length > 0 ? [{ value: '', label: words.choose }] : []),
    ...rows.map((row) => ({ value: String(row.id), label: row.name ?? '' })),
    ...(direction === 'add' ? [{ value: NEW, label: words.newOne[type] }] : []),
  ];
  return (
    <Dialog title={words.title(count)} isOpen onClose={onClose}>
      <form ref={form} onSubmit={submit}>
        <Choice
          label={words.what}
          value={direction}
          onChange={(each) => setDirection(each as Direction)}
          options={[
            { value: 'add', label: words.add },
            { value: 'remove', label: words.remove },
          ]}
        />
        <Choice
          label={words.kind}
          value={type}
          onChange={(each) => setType(each as MarkType)}
          options={[
            { value: 'tags', label: words.types.tags },
            { value: 'device_groups', label: words.types.device_groups },
          ]}
        />
        <Part query={marks}>
          {() =>
            options.length === 0 ? (
              <p className="soft">{words.none[type]}</p>
            ) : (
              <Choice
                label={words.types[type]}
                value={value}
                onChange={setChosen}
                options={options}
              />
            )
          }
        </Part>
        {isNew && direction === 'add' && (
          <Field
            label={words.newName}
            value={newName}
            onChange={setNewName}
            autoComplete="off"
            required
            error={faultAt(change.error, 'name')}
          />
        )}
        {other !== undefined && <ActionError error={other} />}
        {confirm !== undefined && (
          <>
            <p role="alert">{words.confirm(confirm)}</p>
            <TypedCount label={words.typed(confirm)} value={typed} onChange={setTyped} />
          </>
        )}
        <div className="dialog-buttons">
          <Button onPress={onClose}>{words.cancel}</Button>
          <Button kind="main" type="submit" isDisabled={!canSend} isPending={change.isPending}>
            {words.submit[direction](count)}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
