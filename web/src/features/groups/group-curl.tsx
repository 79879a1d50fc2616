import { text } from '../../text/en';
import { groupsText as words } from '../../text/groups';
import { AsCurl } from '../../ui/as-curl';
import type { GroupValues } from './queries';

interface Props {
  id: number | undefined;
  values: GroupValues;
}

/** What the form sends: the rule to count its devices, and the group to store it. */
export function GroupCurl({ id, values }: Props) {
  const { rule } = values;
  const path = '/api/v1/device_groups';
  const data = { type: 'device_groups', attributes: values };
  const store =
    id === undefined
      ? { label: words.createGroup, method: 'POST', path, body: { data } }
      : {
          label: words.saveGroup,
          method: 'PATCH',
          path: `${path}/${id}`,
          body: { data: { ...data, id } },
        };
  const count = {
    label: words.preview.title,
    method: 'POST',
    path: `${path}/preview`,
    body: { rule },
  };
  return (
    <AsCurl
      words={{ ...text.curl, title: words.curlTitle, about: words.curl }}
      requests={rule === undefined ? [store] : [count, store]}
    />
  );
}
