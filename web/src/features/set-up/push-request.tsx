import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { isApiError } from '../../api/errors';
import { saveFile } from '../../api/files';
import { faultAt, otherFault } from '../../api/form-faults';
import { useMutation } from '../../api/mutation';
import { Part } from '../../api/part';
import { setUpText } from '../../text/set-up';
import { Button } from '../../ui/button';
import { Field } from '../../ui/field';
import { useFaultFocus } from '../../ui/use-fault-focus';
import {
  pushRequestPath,
  pushRequestQuery,
  type SigningRequest,
  useCreatePushRequest,
} from './queries';
import { Unsigned } from './unsigned';

const words = setUpText.push;

export function PushRequest() {
  const request = useQuery(pushRequestQuery);
  const [isNew, setNew] = useState(false);
  return (
    <div className="set-up-part">
      <h3>{words.first}</h3>
      <Part query={request}>
        {(found) =>
          found === null || isNew ? (
            <RequestForm onDone={() => setNew(false)} />
          ) : (
            <Download request={found} onAnother={() => setNew(true)} />
          )
        }
      </Part>
    </div>
  );
}

function RequestForm({ onDone }: { onDone: () => void }) {
  const [account, setAccount] = useState('');
  const create = useCreatePushRequest();
  const form = useFaultFocus(create.error);
  const other = otherFault(create.error, ['apple_account']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (account.trim() !== '') create.mutate(account.trim(), { onSuccess: onDone });
  };
  return (
    <form ref={form} className="set-up-part" onSubmit={submit}>
      <Field
        label={words.account}
        type="email"
        value={account}
        onChange={setAccount}
        hint={words.accountHint}
        autoComplete="off"
        required
        error={faultAt(create.error, 'apple_account')}
      />
      {other !== undefined && <ActionError error={other} />}
      <div>
        <Button kind="main" type="submit" isPending={create.isPending}>
          {words.create}
        </Button>
      </div>
    </form>
  );
}

interface DownloadProps {
  request: SigningRequest;
  onAnother: () => void;
}

function Download({ request, onAnother }: DownloadProps) {
  const { id, subject = '', apple_account: account, pem_request: pem } = request;
  const download = useMutation({
    mutationFn: () => saveFile(pushRequestPath(id), 'push-request.plist'),
  });
  const [isStored, setStored] = useState(false);
  const store = () => {
    setStored(true);
    download.reset();
  };
  const isUnsigned = isApiError(download.error, 'no_vendor_certificate');
  return (
    <>
      <p className="set-up-name">{words.latest(account ?? subject)}</p>
      <div className="set-up-buttons">
        <Button kind="main" isPending={download.isPending} onPress={() => download.mutate()}>
          {words.download}
        </Button>
        <Button onPress={onAnother}>{words.another}</Button>
      </div>
      <p role="status" className={isStored ? '' : 'visually-hidden'}>
        {isStored ? words.vendorStored : ''}
      </p>
      {isUnsigned && <Unsigned pem={pem ?? ''} onStored={store} />}
      {download.error !== null && !isUnsigned && <ActionError error={download.error} />}
    </>
  );
}
