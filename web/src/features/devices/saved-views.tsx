import { useQuery } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { faultAt, otherFault } from '../../api/form-faults';
import { Part } from '../../api/part';
import { useMay } from '../../api/rights';
import { devicesText as words } from '../../text/devices';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { Dialog } from '../../ui/dialog';
import { Field } from '../../ui/field';
import { Popover } from '../../ui/popover';
import { useFaultFocus } from '../../ui/use-fault-focus';
import { DEFAULT_COLUMNS } from './attributes';
import { type SavedView, savedViewsQuery, useRemoveView, useSaveView } from './views';

/** Filters, order and columns of the list by a name, for everyone. */
export function SavedViews() {
  const [isSaving, setSaving] = useState(false);
  const [removed, setRemoved] = useState<SavedView>();
  const [result, setResult] = useState('');
  const may = useMay();
  return (
    <>
      <Popover label={words.views}>
        {(close) => (
          <div className="saved-views">
            <ViewList onOpen={close} onRemove={may('deleteSavedView') ? setRemoved : undefined} />
            {may('createSavedView') && (
              <Button
                kind="quiet"
                onPress={() => {
                  close();
                  setSaving(true);
                }}
              >
                {words.saveView}
              </Button>
            )}
          </div>
        )}
      </Popover>
      {isSaving && <SaveView onClose={() => setSaving(false)} />}
      <span role="status" className="visually-hidden">
        {result}
      </span>
      {removed !== undefined && (
        <RemoveView
          view={removed}
          onClose={() => setRemoved(undefined)}
          onDone={() => {
            setResult(words.viewRemoved(removed.name));
            setRemoved(undefined);
          }}
        />
      )}
    </>
  );
}

interface ListProps {
  onOpen: () => void;
  onRemove: ((view: SavedView) => void) | undefined;
}

function ViewList({ onOpen, onRemove }: ListProps) {
  const views = useQuery(savedViewsQuery);
  const { history } = useRouter();
  return (
    <Part query={views}>
      {(rows) =>
        rows.length === 0 ? (
          <p className="soft">{words.noViews}</p>
        ) : (
          <ul>
            {rows.map((view) => (
              <li key={view.id}>
                <a
                  href={view.path}
                  onClick={(event) => {
                    event.preventDefault();
                    history.push(view.path);
                    onOpen();
                  }}
                >
                  {view.name}
                </a>
                {onRemove && (
                  <Button
                    kind="quiet"
                    aria-label={words.removeView(view.name)}
                    onPress={() => {
                      onOpen();
                      onRemove(view);
                    }}
                  >
                    ×
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )
      }
    </Part>
  );
}

function SaveView({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const search = useSearch({ from: '/devices' });
  const router = useRouter();
  const save = useSaveView();
  const form = useFaultFocus(save.error);
  const other = otherFault(save.error, ['name']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // Names the columns in any case: others have chosen columns of their own.
    const cols = search.cols ?? DEFAULT_COLUMNS;
    const path = router.buildLocation({ to: '/devices', search: { ...search, cols } }).href;
    save.mutate({ name: name.trim(), path }, { onSuccess: onClose });
  };
  return (
    <Dialog title={words.saveViewTitle} isOpen onClose={onClose}>
      <form ref={form} onSubmit={submit}>
        <Field
          label={words.viewName}
          value={name}
          onChange={setName}
          autoComplete="off"
          autoFocus
          required
          error={faultAt(save.error, 'name')}
        />
        {other !== undefined && <ActionError error={other} />}
        <div className="dialog-buttons">
          <Button onPress={onClose}>{words.cancel}</Button>
          <Button
            kind="main"
            type="submit"
            isDisabled={name.trim() === ''}
            isPending={save.isPending}
          >
            {words.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface RemoveProps {
  view: SavedView;
  onClose: () => void;
  onDone: () => void;
}

function RemoveView({ view, onClose, onDone }: RemoveProps) {
  const remove = useRemoveView();
  return (
    <ConfirmDialog
      title={words.removeViewTitle(view.name)}
      action={words.removeViewAction}
      cancel={words.cancel}
      isOpen
      isPending={remove.isPending}
      onConfirm={() => remove.mutate(view.id, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{words.removeViewWhy}</p>
      {remove.error !== null && <ActionError error={remove.error} />}
    </ConfirmDialog>
  );
}
