import { useQuery } from '@tanstack/react-query';
import { ActionError } from '../../../api/action-error';
import { Part } from '../../../api/part';
import { useMay } from '../../../api/rights';
import { credentialsQuery } from '../../../api/server';
import { settingsText } from '../../../text/settings';
import { Button } from '../../../ui/button';
import { Empty } from '../../../ui/notice';
import { PlainTable } from '../../../ui/plain-table';
import { Time } from '../../../ui/time';
import { SettingsFrame } from '../settings-frame';
import { BACKUP_COLUMNS } from './columns';
import { BACKUPS_PATH, backupsQuery, useMakeBackup } from './queries';

const words = settingsText.backups;
const NEEDS = { operation: 'listBackups', least: 'admin' };
const UNDER_WAY = ['waiting', 'running'];

export function BackupsPage() {
  const may = useMay();
  const backups = useQuery({ ...backupsQuery, enabled: may(NEEDS.operation) });
  const credentials = useQuery(credentialsQuery);
  const make = useMakeBackup();
  const isMaking = backups.data?.some(({ state }) => UNDER_WAY.includes(state ?? '')) ?? false;
  const last = credentials.data?.last_backup_at;
  return (
    <SettingsFrame
      section="backups"
      about={words.about}
      needs={NEEDS}
      requests={[
        { label: words.table, path: BACKUPS_PATH },
        { label: words.make, path: '/api/v1/backups', method: 'POST' },
      ]}
      aside={
        may('makeBackup') && (
          <Button kind="main" isPending={make.isPending} onPress={() => make.mutate()}>
            {words.make}
          </Button>
        )
      }
    >
      <p>
        {words.last}: {last === null || last === undefined ? words.never : <Time at={last} />}
      </p>
      {make.error !== null && <ActionError error={make.error} />}
      <p role="status" className={isMaking ? '' : 'visually-hidden'}>
        {isMaking ? words.making : ''}
      </p>
      <Part query={backups} lines={6}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={words.none}>
              <p>{words.noneWhy}</p>
            </Empty>
          ) : (
            <PlainTable label={words.table} columns={BACKUP_COLUMNS} rows={rows} />
          )
        }
      </Part>
    </SettingsFrame>
  );
}
