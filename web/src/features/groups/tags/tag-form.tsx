import { type FormEvent, useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { faultAt, otherFault } from '../../../api/form-faults';
import { groupsText as words } from '../../../text/groups';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { Field } from '../../../ui/field';
import { useFaultFocus } from '../../../ui/use-fault-focus';
import { type Tag, useSaveTag } from '../queries';

interface Props {
  /** Undefined: a new one. */
  tag: Tag | undefined;
  onClose: () => void;
}

const NEW_COLOR = '4352d6';

export function TagForm({ tag, onClose }: Props) {
  const [name, setName] = useState(tag?.name ?? '');
  const [color, setColor] = useState(tag?.color ?? NEW_COLOR);
  const save = useSaveTag(tag?.id);
  const form = useFaultFocus(save.error);
  const other = otherFault(save.error, ['name', 'color']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ name: name.trim(), color }, { onSuccess: onClose });
  };
  const title = tag === undefined ? words.newTag : words.editNamed(tag.name ?? '');
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <form ref={form} onSubmit={submit}>
        <Field
          label={words.name}
          value={name}
          onChange={(typed) => {
            setName(typed);
            save.reset();
          }}
          required
          autoFocus
          autoComplete="off"
          error={faultAt(save.error, 'name')}
        />
        <Field
          label={words.color}
          type="color"
          value={`#${color}`}
          onChange={(chosen) => setColor(chosen.slice(1))}
          error={faultAt(save.error, 'color')}
        />
        {other !== undefined && <ActionError error={other} />}
        <div className="dialog-buttons">
          <Button onPress={onClose}>{words.cancel}</Button>
          <Button kind="main" type="submit" isPending={save.isPending}>
            {tag === undefined ? words.createTag : words.saveTag}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
