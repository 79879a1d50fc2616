import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Part } from '../../../api/part';
import { useMay } from '../../../api/rights';
import { groupsText as words } from '../../../text/groups';
import { Button } from '../../../ui/button';
import { Empty } from '../../../ui/notice';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { Time } from '../../../ui/time';
import { DevicesLink } from '../devices-link';
import { GroupsFrame } from '../groups-frame';
import { type Tag, tagsQuery } from '../queries';
import { ReadOnly } from '../read-only';
import { DeleteTag } from './delete-tag';
import { Swatch } from './swatch';
import { TagForm } from './tag-form';

const COLUMNS: PlainColumn<Tag>[] = [
  {
    name: 'name',
    label: words.name,
    cell: ({ name, color }) => (
      <span className="tag-name">
        <Swatch color={color} />
        {name}
      </span>
    ),
  },
  {
    name: 'devices',
    label: words.devicesHead,
    isNumber: true,
    isTight: true,
    cell: ({ name = '', devices_count: count = 0 }) => (
      <DevicesLink name={name} count={count} filter={`tags~has~${name}`} />
    ),
  },
  {
    name: 'changed',
    label: words.changed,
    isTight: true,
    isMinor: true,
    cell: ({ updated_at }) => <Time at={updated_at} />,
  },
];

/** What is open above the list. */
type Open = { form: Tag | undefined } | { deleting: Tag } | undefined;

export function TagsPage() {
  const tags = useQuery(tagsQuery);
  const may = useMay();
  const [open, setOpen] = useState<Open>();
  const [result, setResult] = useState('');
  const close = () => setOpen(undefined);
  const actions: PlainColumn<Tag> = {
    name: 'actions',
    label: words.actions,
    isActions: true,
    isTight: true,
    cell: (tag) => (
      <>
        <Button
          kind="quiet"
          aria-label={words.editNamed(tag.name ?? '')}
          onPress={() => setOpen({ form: tag })}
        >
          {words.edit}
        </Button>
        <Button
          kind="quiet"
          aria-label={words.deleteNamed(tag.name ?? '')}
          onPress={() => setOpen({ deleting: tag })}
        >
          {words.delete}
        </Button>
      </>
    ),
  };
  const canWrite = may('updateTag');
  return (
    <GroupsFrame
      part="tags"
      aside={
        may('createTag') && (
          <Button kind="main" onPress={() => setOpen({ form: undefined })}>
            {words.newTag}
          </Button>
        )
      }
    >
      <Part query={tags} lines={8}>
        {({ rows, total }) =>
          rows.length === 0 ? (
            <Empty title={words.noTags}>
              <p>{words.noTagsWhy}</p>
            </Empty>
          ) : (
            <>
              <PlainTable
                label={words.tags}
                columns={canWrite ? [...COLUMNS, actions] : COLUMNS}
                rows={rows}
              />
              {total > rows.length && <p className="soft">{words.first(rows.length, total)}</p>}
            </>
          )
        }
      </Part>
      <p role="status" className={result === '' ? 'visually-hidden' : ''}>
        {result}
      </p>
      {!canWrite && <ReadOnly />}
      {open !== undefined && 'form' in open && <TagForm tag={open.form} onClose={close} />}
      {open !== undefined && 'deleting' in open && (
        <DeleteTag
          tag={open.deleting}
          onClose={close}
          onDone={() => {
            setResult(words.tagDeleted(open.deleting.name ?? ''));
            close();
          }}
        />
      )}
    </GroupsFrame>
  );
}
