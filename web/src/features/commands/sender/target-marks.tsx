import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Part } from '../../../api/part';
import { commandsText } from '../../../text/commands';
import { Button } from '../../../ui/button';
import { CheckList } from '../../../ui/check-list';
import { marksQuery } from './queries';

const { targets: words, form, devices } = commandsText;

interface Props {
  kind: 'tags' | 'groups';
  onChoose: (ids: number[]) => void;
}

/** Devices that have one of some tags, or are in one of some groups. */
export function TargetMarks({ kind, onChoose }: Props) {
  const marks = useQuery(marksQuery);
  const [chosen, setChosen] = useState<string[]>([]);
  const label = words.ways[kind];
  return (
    <Part query={marks}>
      {(data) =>
        data[kind].length === 0 ? (
          <p className="soft">{kind === 'tags' ? words.noTags : words.noGroups}</p>
        ) : (
          <>
            <CheckList
              label={label}
              options={data[kind].map(({ id, name, devices_count: count = 0 }) => ({
                value: String(id),
                label: `${name} (${devices(count)})`,
              }))}
              chosen={chosen}
              onChange={setChosen}
              hint={kind === 'tags' ? words.tagsHint : words.groupsHint}
              words={{ ...form, filter: form.filter(label.toLowerCase()) }}
            />
            <div>
              <Button isDisabled={chosen.length === 0} onPress={() => onChoose(chosen.map(Number))}>
                {words.use}
              </Button>
            </div>
          </>
        )
      }
    </Part>
  );
}
