import { useState } from 'react';
import { useMay } from '../../../api/rights';
import { deviceText } from '../../../text/device';
import { Button } from '../../../ui/button';
import type { PlainColumn } from '../../../ui/plain-table';
import { Status, type Tone } from '../../../ui/status';
import { Time } from '../../../ui/time';
import { ListTab } from '../lists/list-tab';
import type { ListRow } from '../queries';
import { RevealDialog } from './reveal-dialog';

type Secret = ListRow<'secrets'>;

const words = deviceText.secrets;
const columnWords = deviceText.columns;
const TONES: Record<string, Tone> = {
  confirmed: 'ok',
  failed: 'bad',
  queued: 'warn',
  sent: 'warn',
};

const COLUMNS: PlainColumn<Secret>[] = [
  { name: 'kind', label: columnWords.kind, cell: kindOf },
  {
    name: 'state',
    label: columnWords.state,
    isTight: true,
    cell: ({ state, is_removal: isRemoval, is_known: isKnown }) => (
      <Status tone={isRemoval ? 'soft' : (TONES[state ?? ''] ?? 'soft')}>
        {(isRemoval ? words.removed : (words.states[state ?? ''] ?? `${state}`)) +
          (isKnown === false ? words.unknown : '')}
      </Status>
    ),
  },
  {
    name: 'number',
    label: columnWords.enrollmentNumber,
    isNumber: true,
    isTight: true,
    isMinor: true,
    cell: ({ enrollment_number: number }) => number ?? '–',
  },
  {
    name: 'created',
    label: columnWords.created,
    isTight: true,
    isMinor: true,
    cell: ({ created_at: at }) => <Time at={at} />,
  },
];

/** What the server keeps of the device in secret. Only an admin can see a value, with a reason. */
export function SecretsTab({ id }: { id: number }) {
  const [shown, setShown] = useState<Secret>();
  const canReveal = useMay()('revealDeviceSecret');
  const actions: PlainColumn<Secret> = {
    name: 'actions',
    label: columnWords.actions,
    isActions: true,
    cell: (secret) =>
      secret.is_removal !== true &&
      secret.is_known !== false && (
        <Button
          kind="quiet"
          aria-label={words.showNamed(kindOf(secret))}
          onPress={() => setShown(secret)}
        >
          {words.show}
        </Button>
      ),
  };
  return (
    <>
      {!canReveal && <p className="soft">{words.needsAdmin}</p>}
      <ListTab
        id={id}
        name="secrets"
        label={deviceText.tab.secrets}
        empty={deviceText.empty.secrets}
        columns={canReveal ? [...COLUMNS, actions] : COLUMNS}
      />
      {shown !== undefined && (
        <RevealDialog
          device={id}
          secret={shown.id}
          title={kindOf(shown)}
          onClose={() => setShown(undefined)}
        />
      )}
    </>
  );
}

function kindOf({ kind }: Secret): string {
  return words.kinds[kind ?? ''] ?? kind ?? '–';
}
