import { type FormEvent, useMemo, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { faultAt, otherFault } from '../../api/form-faults';
import { useMay } from '../../api/rights';
import { groupsText as words } from '../../text/groups';
import { Button } from '../../ui/button';
import { Field } from '../../ui/field';
import { LeaveDialog } from '../../ui/leave-dialog';
import { Section } from '../../ui/page';
import { useFaultFocus } from '../../ui/use-fault-focus';
import { GroupCurl } from './group-curl';
import { type Kind, KindChoice } from './kind-choice';
import { type Group, useSaveGroup } from './queries';
import { ReadOnly } from './read-only';
import { LiveCount } from './rules/live-count';
import { draftOf, type RuleDraft, ruleOf } from './rules/rule-draft';
import { RuleEditor } from './rules/rule-editor';

interface Props {
  /** Undefined: a new one. */
  group?: Group;
  onSaved: (id: number) => void;
}

export function GroupForm({ group, onSaved }: Props) {
  const [name, setName] = useState(group?.name ?? '');
  const [description, setDescription] = useState(group?.description ?? '');
  const [kind, setKind] = useState<Kind>(group?.kind ?? 'smart');
  const [draft, setDraft] = useState(() => draftOf(group?.rule));
  const [isDirty, setDirty] = useState(false);
  const rule = useMemo(() => (kind === 'smart' ? ruleOf(draft) : undefined), [kind, draft]);
  const save = useSaveGroup(group?.id);
  const canSave = useMay()(group === undefined ? 'createDeviceGroup' : 'updateDeviceGroup');
  const changing =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      setDirty(true);
    };
  const isWhole = name.trim() !== '' && (kind === 'static' || rule !== undefined);
  const values = {
    name: name.trim(),
    description: description.trim() === '' ? null : description.trim(),
    ...(group === undefined && { kind }),
    ...(rule !== undefined && { rule }),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isWhole) return;
    const onSuccess = (id: number) => {
      setDirty(false);
      onSaved(id);
    };
    save.mutate(values, { onSuccess });
  };
  const form = useFaultFocus(save.error);
  const other = otherFault(save.error, ['name', 'description']);
  return (
    <form ref={form} className="group-form" data-kind={kind} onSubmit={submit}>
      <fieldset className="group-form-main" disabled={!canSave}>
        <Section title={words.about}>
          <Field
            label={words.name}
            value={name}
            onChange={changing(setName)}
            required
            autoComplete="off"
            error={faultAt(save.error, 'name')}
          />
          <Field
            label={words.description}
            value={description}
            onChange={changing(setDescription)}
            autoComplete="off"
            error={faultAt(save.error, 'description')}
          />
          {group === undefined && <KindChoice kind={kind} onChange={changing(setKind)} />}
        </Section>
        {kind === 'smart' && (
          <Section title={words.rule.title}>
            <RuleEditor draft={draft} onChange={changing<RuleDraft>(setDraft)} />
          </Section>
        )}
      </fieldset>
      {kind === 'smart' && (
        <div className="group-form-count">
          <Section title={words.preview.title}>
            <LiveCount rule={rule} />
          </Section>
        </div>
      )}
      <div className="group-form-main">
        {other !== undefined && <ActionError error={other} />}
        {canSave ? (
          <div className="group-form-buttons">
            <Button
              kind="main"
              type="submit"
              isPending={save.isPending}
              isDisabled={!isWhole || (group !== undefined && !isDirty)}
            >
              {group === undefined ? words.createGroup : words.saveGroup}
            </Button>
            <span role="status" className="soft">
              {save.isSuccess && !isDirty ? words.saved : ''}
            </span>
          </div>
        ) : (
          <ReadOnly />
        )}
        {canSave && isWhole && <GroupCurl id={group?.id} values={values} />}
      </div>
      <LeaveDialog isDirty={isDirty} words={words} />
    </form>
  );
}
