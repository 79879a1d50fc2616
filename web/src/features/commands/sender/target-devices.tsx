import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Part } from '../../../api/part';
import { commandsText } from '../../../text/commands';
import { Button } from '../../../ui/button';
import { CheckList } from '../../../ui/check-list';
import { Field } from '../../../ui/field';
import { deviceSearchQuery } from './queries';
import { useSettled } from './settled';

const { targets: words, form } = commandsText;
const SHORTEST = 3;

/** Devices that are searched and ticked. Those that were ticked stay while others are searched. */
export function TargetDevices({ onChoose }: { onChoose: (ids: number[]) => void }) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map());
  const sought = useSettled(typed.trim());
  const isLong = sought.length >= SHORTEST;
  const found = useQuery({
    ...deviceSearchQuery(sought),
    enabled: isLong,
    placeholderData: keepPreviousData,
  });
  const rows = (isLong ? (found.data?.rows ?? []) : []).map(
    ({ id, device_name: name, serial_number: serial }) => ({
      value: String(id),
      label: [name ?? words.unnamed(id), serial].filter(Boolean).join(', '),
    }),
  );
  const kept = [...chosen]
    .filter(([value]) => !rows.some((row) => row.value === value))
    .map(([value, label]) => ({ value, label }));
  const options = [...kept, ...rows];
  return (
    <>
      <Field
        label={words.search}
        type="search"
        value={typed}
        onChange={setTyped}
        hint={words.searchHint}
        autoComplete="off"
      />
      {options.length > 0 && (
        <CheckList
          label={words.found}
          options={options}
          chosen={[...chosen.keys()]}
          onChange={(values) =>
            setChosen(
              new Map(
                options
                  .filter(({ value }) => values.includes(value))
                  .map(({ value, label }) => [value, label]),
              ),
            )
          }
          words={{ ...form, filter: form.filter(words.found.toLowerCase()) }}
        />
      )}
      {isLong && (
        <Part query={found} lines={2}>
          {({ rows: read, total }) => (
            <p className="soft" role="status">
              {total === 0 && words.noneFound}
              {total > read.length && words.firstFound(read.length, total)}
            </p>
          )}
        </Part>
      )}
      <div>
        <Button
          isDisabled={chosen.size === 0}
          onPress={() => onChoose([...chosen.keys()].map(Number))}
        >
          {chosen.size === 0 ? words.use : words.takeCount(chosen.size)}
        </Button>
      </div>
    </>
  );
}
