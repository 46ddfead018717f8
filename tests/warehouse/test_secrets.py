"""Secrets on command lines and in variables: replaced before they are written, and nothing else is."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench.measure.commands.plan import Template, plan
from bench.warehouse import environment, secrets
from bench.warehouse.errors import BenchError
from bench.warehouse.secrets import KEEP, masked, masked_command, masked_parameters, masked_variable
from hypothesis import given
from hypothesis import strategies as st

from ..exhaustive import first_of

pytestmark = pytest.mark.usefixtures("nothing_derived")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python x.py --api-key abc --verbose", "python x.py --api-key *** --verbose"),
        ("python x.py --verbose --api_key=abc", "python x.py --verbose --api_key=***"),
        ("psql postgres://u:pw@h/db", "psql postgres://u:***@h/db"),
        ("HF_TOKEN=abc AWS_SECRET_ACCESS_KEY=a/b+c python a.py", "HF_TOKEN=*** AWS_SECRET_ACCESS_KEY=*** python a.py"),
        ("x --password='a b' z --client-secret \"q r\" w", "x --password=*** z --client-secret *** w"),
        ("x '--password=a b' z", "x '--password=***' z"),
        ("x --password 'a'\"'\"'b c' z", "x --password *** z"),
        ("x --password='never closed", "x --password=***"),
        ("hydra wandb.api_key=abc lr=0.1", "hydra wandb.api_key=*** lr=0.1"),
        ("curl -H 'Authorization: Bearer kLmnopqr' u", "curl -H 'Authorization: Bearer ***' u"),
        ("run sk-abcdefghijklmnopqrstuvwx", "run ***"),
        ("git clone https://ghp_0123456789abcdefghijkl@github.com/x", "git clone https://***@github.com/x"),
        ('{"api_key": "ab\\"c", "n": 1}', '{"api_key": "***", "n": 1}'),
        ("password = 'hunter2'  # mine", "password = '***'  # mine"),
        ("env:\n  - HF_TOKEN: abc\n", "env:\n  - HF_TOKEN: ***\n"),
        ("curl --cookie session=abc http://h/x?n=1", "curl --cookie *** http://h/x?n=1"),
        ("DB_PASS=abc PGPASSWORD=def MYSQL_PWD=g python a.py", "DB_PASS=*** PGPASSWORD=*** MYSQL_PWD=*** python a.py"),
        ("get https://h/c?sv=2024&sig=a%2Fb%3D&se=5 now", "get https://h/c?sv=2024&sig=***&se=5 now"),
        (
            "GET https://b.s3/k?X-Amz-Expires=60&X-Amz-Signature=0a1b2c",
            "GET https://b.s3/k?X-Amz-Expires=60&X-Amz-Signature=***",
        ),
        ("bash -c \"curl -H 'X-Auth-Token: abcd' u\"", "bash -c \"curl -H 'X-Auth-Token: ***' u\""),
        ("bash -c 'curl -H \"Cookie: a=b; c=d\" u'", "bash -c 'curl -H \"Cookie: ***\" u'"),
        ("sh -c 'curl -H \"Authorization: Token abc12345\" u'", "sh -c 'curl -H \"Authorization: Token ***\" u'"),
        ("mysql -u root -phunter2 db", "mysql -u root -p*** db"),
        ("sshpass -p hunter2 ssh h", "sshpass -p *** ssh h"),
        ("curl -u me:hunter2 http://h", "curl -u me:*** http://h"),
        ("curl -sSb id=hunter2 http://h", "curl -sSb *** http://h"),
        ("curl -b 'id=hunter2; n=3' http://h", "curl -b *** http://h"),
        ("ab -n 5 -C id=hunter2 -A me:hunter2 http://h", "ab -n 5 -C *** -A me:*** http://h"),
        ("redis-cli -h db -a hunter2 get x", "redis-cli -h db -a *** get x"),
        ("redis-benchmark --pass hunter2 -n 9", "redis-benchmark --pass *** -n 9"),
        ("mysqldump -p'hunter2' db", "mysqldump -p'***' db"),
        ("docker login -u me -p hunter2 r.io; 7z x -phunter2 a", "docker login -u me -p *** r.io; 7z x -p*** a"),
        ("openssl rsa -passin pass:hunter2", "openssl rsa -passin pass:***"),
        ("ldapsearch -w hunter2 -D cn=x", "ldapsearch -w *** -D cn=x"),
        ('{"headers": {"Authorization": "Token hunter2secret"}}', '{"headers": {"Authorization": "Token ***"}}'),
        ('{\\"authorization\\": \\"hunter2secret\\"}', '{\\"authorization\\": \\"***\\"}'),
        ("curl --header='X-Auth: hunter2' u", "curl --header='X-Auth: ***' u"),
        ("os.environ['OPENAI_API_KEY'] = 'hunter2'", "os.environ['OPENAI_API_KEY'] = '***'"),
        ("Data Source=h;pwd=hunter2;n=1", "Data Source=h;pwd=***;n=1"),
        ("SSHPASS=hunter2 REDISCLI_AUTH=hunter2 x", "SSHPASS=*** REDISCLI_AUTH=*** x"),
        ("htpasswd -bBC 12 f me hunter2; htpasswd -nb me hunter2", "htpasswd -bBC 12 f me ***; htpasswd -nb me ***"),
        ("curl -su me:hunter2 u; lftp -u me,hunter2 h", "curl -su me:*** u; lftp -u me,*** h"),
        ("x --header=Authorization:\\ Bearer\\ hunter2", "x --header=Authorization:\\ Bearer\\ ***"),
        ("java -Djavax.net.ssl.keyStorePassword=hunter2 x", "java -Djavax.net.ssl.keyStorePassword=*** x"),
        ("spark --conf spark.hadoop.fs.s3a.secret.key=hunter2", "spark --conf spark.hadoop.fs.s3a.secret.key=***"),
        ("fish -c 'set -x API_KEY hunter2 && x'", "fish -c 'set -x API_KEY *** && x'"),
        ("npm config set //r.org/:_authToken hunter2", "npm config set //r.org/:_authToken ***"),
        ("get 'https://h/?code=1&client_secret=hunter2&n=1'", "get 'https://h/?code=1&client_secret=***&n=1'"),
        ("git clone https://0123456789abcdefghijklmn@h/x", "git clone https://***@h/x"),
        ("ERROR: (using password: hunter2), user me", "ERROR: (using password: ***), user me"),
        ("CREATE USER me IDENTIFIED BY 'hunter two'", "CREATE USER me IDENTIFIED BY '***'"),
        ("machine h login me password hunter2", "machine h login me password ***"),
        ("echo hunter2 | docker login -u me --password-stdin", "echo *** | docker login -u me --password-stdin"),
        ("mount.cifs //h/s /m -o user=me,pass=hunter2,ro", "mount.cifs //h/s /m -o user=me,pass=***,ro"),
        ("sqlplus -s me/hunter2@db; sqlcmd -U sa -P hunter2", "sqlplus -s me/***@db; sqlcmd -U sa -P ***"),
        ("net use Z: \\\\h\\s hunter2 /user:me", "net use Z: \\\\h\\s *** /user:me"),
        ("x --auth=me:hunter2 --pwd hunter2", "x --auth=me:*** --pwd ***"),
        ("ssh-keygen -P hunter2 -N other3 -f k", "ssh-keygen -P *** -N *** -f k"),
        ("openssl rsa -passin pass:hunter2 -passout pass:other3", "openssl rsa -passin pass:*** -passout pass:***"),
        ("snmpget -A hunter2 -X other3 -u me h", "snmpget -A *** -X *** -u me h"),
        ('curl -d "{\\"token\\": \\"hunter2\\", \\"n\\": 1}" u', 'curl -d "{\\"token\\": \\"***\\", \\"n\\": 1}" u'),
        (
            "redis-cli AUTH me hunter2; redis-server --requirepass hunter2",
            "redis-cli AUTH me ***; redis-server --requirepass ***",
        ),
        ("mc alias set a http://h access1 hunter2", "mc alias set a http://h access1 ***"),
        (
            "kubectl create secret generic a --from-literal=b=hunter2",
            "kubectl create secret generic a --from-literal=b=***",
        ),
        (
            "az login -u a -p hunter2 --tenant t; cargo login hunter2secret",
            "az login -u a -p *** --tenant t; cargo login ***",
        ),
        (
            "kinit me <<< hunter2; printf hunter2 | docker login --password-stdin",
            "kinit me <<< ***; printf *** | docker login --password-stdin",
        ),
        ("openai: Incorrect API key provided: hunter2secret. See", "openai: Incorrect API key provided: ***. See"),
        (
            "x --conf fs.azure.account.key.a.windows.net=hunter2 --jwt hunter2",
            "x --conf fs.azure.account.key.a.windows.net=*** --jwt ***",
        ),
        ("args: ['--token', 'hunter2', '--n', '3'] SECRET 'a b'", "args: ['--token', '***', '--n', '3'] SECRET '***'"),
        ("curl -H 'JOB-TOKEN: hunter2' -d pass=hunter2 u", "curl -H 'JOB-TOKEN: ***' -d pass=*** u"),
        ("curl -H 'X-Hub-Signature-256: sha256=hunter2' u", "curl -H 'X-Hub-Signature-256: sha256=***' u"),
        ("Authorization: AWS4-HMAC-SHA256 a=b, Signature=0a1b2c", "Authorization: *** a=b, Signature=***"),
        ("requests.get(u, auth=('me', 'hunter2'))", "requests.get(u, auth=('me', '***'))"),
        ("os.environ['A_TOKEN']='hunter2'; login(key='other3')", "os.environ['A_TOKEN']='***'; login(key='***')"),
        (
            '<password>hunter2</password> key="ApiKey" value="other3"',
            '<password>***</password> key="ApiKey" value="***"',
        ),
        (":password => 'hunter2'; password := \"other3\"", ":password => '***'; password := \"***\""),
        ("the password is hunter2. (using password hunter2)", "the password is ***. (using password ***)"),
        ("get 'https://h/?a[token]=hunter2&sid=other3'", "get 'https://h/?a[token]=***&sid=***'"),
        ("uv publish -t hunter2; useradd -p hunter2 me", "uv publish -t ***; useradd -p *** me"),
        ("fly secrets set A=hunter2; vault kv put a/b c=hunter2", "fly secrets set A=***; vault kv put a/b c=***"),
        (
            "gradle -Ppassword=hunter2 x && git config --global a.token hunter2",
            "gradle -Ppassword=*** x && git config --global a.token ***",
        ),
        (
            "gh auth login --with-token <<< hunter2; mysqladmin password hunter2",
            "gh auth login --with-token <<< ***; mysqladmin password ***",
        ),
        ("curl -E c.pem:hunter2 u; openssl passwd -6 hunter2", "curl -E c.pem:*** u; openssl passwd -6 ***"),
        ("printf '%s' hunter2 | docker login --password-stdin", "printf '%s' *** | docker login --password-stdin"),
        (
            "GH_PAT=hunter2 NPM_AUTH=hunter2 DD_APP_KEY=hunter2 x --otp hunter2",
            "GH_PAT=*** NPM_AUTH=*** DD_APP_KEY=*** x --otp ***",
        ),
        (
            "SENTRY_DSN=https://hunter2@sentry.io/1 lpass login me hunter2",
            "SENTRY_DSN=https://***@sentry.io/1 lpass login me ***",
        ),
        (
            "wg set w private-key hunter2; ollama run m --key hunter2; kaggle --key=hunter2",
            "wg set w private-key ***; ollama run m --key ***; kaggle --key=***",
        ),
        (
            "expect -c 'send \"hunter2\\r\"'; expired access token: hunter2secret",
            "expect -c 'send \"***\\r\"'; expired access token: ***",
        ),
        ("AWS_ACCESS_KEY_ID=ASIA0123456789ABCDEF x", "AWS_ACCESS_KEY_ID=*** x"),
        (
            "curl -H 'Authorization: Basic bWU6cHc=' u; Basic bWU6aHVudGVyMg==",
            "curl -H 'Authorization: Basic ***' u; Basic ***",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAb+/=\n-----END RSA PRIVATE KEY-----\nend",
            "-----BEGIN RSA PRIVATE KEY-----\n***-----END RSA PRIVATE KEY-----\nend",
        ),
        ('"-----BEGIN PRIVATE KEY-----\\nMIIEow\\nAb==\\n', '"-----BEGIN PRIVATE KEY-----\\n***'),
        ("a tail of\nMIIEow\nAb==\n-----END PRIVATE KEY-----", "a tail of\n***-----END PRIVATE KEY-----"),
    ],
)
def test_what_looks_like_a_secret_is_replaced(text: str, expected: str) -> None:
    """By the name of an option or variable, in a URL or header, or by its form; masking twice changes nothing more."""
    assert masked(text) == masked(masked(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "serve --max-tokens 512 --tokenizer gpt2 --eos-token '</s>' --pad-token=<pad>",
        "train --token 5 --token=1e-3 --num-key-value-heads 8 --keys a --key b monkey=c",
        "x --token --verbose",
        "python -c 'token = f(3)'",
        "curl http://host:8000/a@b http://user@host/",
        "serve --tokens 128 --max-tokens-per-batch 8192 --tokenizer meta-llama/Llama-3 --token-budget 2048 --token 7",
        "serve --max-num-batched-tokens=4096 --tokens-per-second 9 --tokenizer-mode auto --key-value-cache fp8 --n-tokens 3",
        "serve --stop-token END --eos-token-id 2 --image-token '<image>' --max-new-tokens 16 max_tokens=64 num_tokens=3",
        "sort --key=2 --public-key-file k.pub --secretary bob --passwordless --tokenize yes",
        "def f(token: str, api_key: str | None = None):",
        "UserWarning: token: 3 of 4 tokens; passed: 5; keys: a, b",
        "mkdir -pv /x; python -pdb a.py; pytest -p no:cacheprovider; mysql -P 3306 --protocol tcp; ssh -p 22 host",
        "forward_pass=slow --bypass x --passes 3 compass=n PWD=/home/me OLDPWD=/x first-pass: ok accuracy=pass pass_due_to_skip",
        "GET http://h/x?page=2&key=3&sort=name&design=single&signal=9 sigma=0.5 --signals TERM assigned=x",
        "curl --cookie-jar jar.txt -o out http://h; cookies=true --session bench1 session=4 sessions: 5",
        "bench -b 32 -a 5 -p 3; train -b 32 -a adam --lr 1; run -a x -b y; train -b size=32; curl -b cookies.txt u",
        "docker run -p 80:80 -e OMP_NUM_THREADS=4 img; mongod -p 27017; ab -n 100 -c 10 -A x http://h; hey -n 5 -a x u",
        "7z a -mx=9 a b; zip -r a b; redis-benchmark -t set,get -n 1000 -P 16; ldapsearch -W -b dc=x; wget -b http://h",
        "helm install --set replicas=3 x; k6 run -e VUS=10 s.js; curl -s -o /dev/null -w %{http_code} u; wandb login --relogin",
        "unexpected token: abc1; password: is required; echo done1 | tee login; --auth oauth2 --pwd /home/me1",
        "basic validation1 failed; a basic understanding of BasicBlock2; bearer of news; Basic operations3 --sort-key name1",
        "java -Dfile.encoding=UTF-8 x; cmake -DPASS=fuse1; config set cache_key abc1; set -x; mount -o rw,user=me",
        "lftp -u me h; sqlcmd -Q q; sqlplus /nolog; htpasswd -c f me; ffmpeg -pass 1 x1.mp4; x pass=fuse1 --passes inline1",
        "ssh://me@host1/p https://h:8080/a@1234567890123456789012b s3://b1/k; -----BEGIN PUBLIC KEY-----\nMIIE",
        '{"authorization": "required", "Authorization": "none"}',
        "sort by api key: none1; x --pw /home/me1; kubectl create secret tls a; az login; redis-cli get auth; ssh-keygen -t rsa",
        "authorization: required; Authorization failed: retry; http -u /x; curl -o a:b http://h:80/",
        '{"tokens": "128", "tokenizer": "gpt2", "max_tokens": "12", "token_budget": "2048", "keys": "abc"}',
        "git config user.name me1; git config --global core.editor vim9; dvc remote modify r url s3://b1",
        "printf '%s' x1 | tee f; echo done1 | grep token; docker login h; docker login --help",
        "http --auth-type digest u; openssl passwd -h; openssl version -a; vault kv get secret/x; fly secrets list",
        "curl --cert c.pem u; curl -d name=abc1 u; curl -E c.pem u; snmpget -v2c -c public h",
        "<token>5</token> <tokens>abc</tokens> <tokenizer>gpt2</tokenizer> <sid>",
        "tok := next1; a => b1; map(token => token.id); let token = f1(x)",
        "args: ['--tokens', '5'] ['--eos-token', 'x1'] ['--n', '3'] ['--max-tokens', '512']",
        "'tokens: 5' \"key: abc1\" 'size: big1' \"passes: inline1\" 'token: int'",
        'key="name" value="abc1" name="tokens" value="x1" name="batch" value="8"',
        "password is required; the password is correct; invalid api key format; your token is missing",
        "bw list items; wpa_supplicant -c f; iwconfig wlan0 essid x1; smbclient -L host1; useradd -m me1; usermod -aG docker me1",
        "gradle -Pversion=1.2.3 -PskipTests=yes1 build; nuget install a1; gem install b1; hatch build -t wheel1",
        "uv pip install x1; uv publish dist1; vercel deploy app1; influx ping; netlify build --context dev1; cypher-shell -u me1",
        "pdftotext -layout a1.pdf; pdftk a1.pdf cat 1 output b1.pdf; qpdf --linearize a1 b1; rclone copy a1 b1; gcloud auth list",
        "login(user='me1'); auth=(a, b); HTTPBasicAuth(user, word); auth=None",
        "secret: see docs1; the secret 'a' of; a secret (of kind1)",
        "GET http://h/x?code=abc1&pass=3&side=left1&kids=x1&hmacs=2 ; http://h/x?a[b]=c1&list%5B%5D=d1",
        "SET SESSION x = 'abc1'; SET GLOBAL key_buffer_size=8; CREATE SECRET s (TYPE S3); pass insert web/site1",
        "python bench.py --autograd-token-count 3 --topk 5 --app keyboard1 --hotkey ctrl1 --pat x1; cat <<< abc1; wc <<< word1",
        "su - me1 -c id; sudo -u me1 x; app=keyed1; --patience 3; otpx=5; path_pattern=x1",
        "restic --password-file /p1 backup x1; pulumi config set region eu1; etcdctl --user root get k1; vault status; xh get u",
        "Expected token 'foo1' but got 'bar2'; Unexpected token <; token_type_ids: 0, attention_mask: 1; special_token => x1",
        "wg set wg0 private-key /etc/wg0.key; expect -c 'send \"exit\\r\"'; ollama run llama3; kaggle datasets list",
        "invalid token 'foo1' at column 3; unknown token type_ids2; code=E1; dsn: none; --key name1 --pass fuse1",
        "sudo --user me opt --pass fuse1 x; docker run --user 1000 img --pass inline1; user=me key=name1 pass-rate=high1",
        "passcodes; --creds file1.json; user: me, passed: yes1; http_auth=basic1; --authorization basic; {'auth': 'none'}",
        "dvc remote modify r --local url s3://b1; jdbc:oracle:thin:@h1:1521:x; X-Author: me1; a_pwm=5; my_pwd_dir1",
        "X-Request-Id: abc12346 'Content-Type: text1' \"Accept: a1\" 'X-RateLimit: 5' Host: h1",
    ],
)
def test_all_else_stays(text: str) -> None:
    """Numbers, tokens of language models, names that only begin like a secret's."""
    assert masked(text) == text


@given(st.text("-_=':\" \\atokensecret/@.5", max_size=40))
def test_masking_ends(text: str) -> None:
    """For any text, closed quotes or not; a text without a secret's name is as it was."""
    assert masked(text) == text or "***" in masked(text)


WAYS = Path(__file__).parents[1] / "data" / "secrets.txt"  # typed ways of a secret, which stands for "@@"
STAY = {  # no rule knows these from what is harmless, unless a machine made the value
    "x --pass @@": "of a compiler: a pass",
    "PASS=@@ x": "likewise",
    "x --pin @@": "a core to pin a process to, a board's pin; of a card: a number, and numbers stay",
    "KEY=@@ x": "a key to sort, to group or to cache by",
    "curl 'https://h/p?code=@@'": "of an error, a country, a language",
    "snowsql -a a -u me -p @@": "a port",
    "age -p @@": "a file: age asks for the passphrase",
}


def test_every_typed_way_of_a_secret_is_replaced() -> None:
    """By options, variables, headers, addresses, programs and texts; what stays has its reason."""
    ways = [line for line in WAYS.read_text().splitlines() if line and not line.startswith("##")]
    left = set()
    for way in ways:
        secrets._seen.clear()  # by itself: what was masked once is masked everywhere
        if "hunter2" in masked(way.replace("@@", "hunter2secret")):
            left.add(way)

    assert len(ways) > 490 and left == set(STAY)


@pytest.mark.parametrize("way", [way for way in STAY if "-p" not in way.split() and "pin" not in way])
def test_what_a_machine_made_is_a_secret_where_a_word_may_be_none(way: str) -> None:
    """Letters of both sizes with digits; a name, a path or a checksum of Git stays."""
    for made in ("aB3dE6gH9jK2mN5p", "Zm9vYmFyMTIz0aA9bB8="):
        assert masked(way.replace("@@", made)) == way.replace("@@", "***")
    for other in (
        "convert-linalg2-to-loops",
        "ScalarReplAggregates",
        "/etc/Keys/A1b2c3.pem",
        "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    ):
        assert masked(way.replace("@@", other)) == way.replace("@@", other)


PLACES = [  # where a secret may stand
    "x --cookie s={}", "A_DB_PASS={} x", "get 'https://h/p?a=1&sig={}&b=2'", "https://h/?X-Amz-Signature={}",
    "curl -H 'Cookie: s={}' u",
    'sh -c "curl -H \'X-Api-Key: {}\' u"', "mysql -h db -p{} x", "sshpass -p {} ssh h", "curl --user me:{} u",
    "PGPASSWORD={} psql",
    "error: GET https://h/?access_token={} gave 403", "Set-Cookie: id={}; Path=/", "PHPSESSID={}", "Authorization: Digest {}",
    "curl -b s={} u", "redis-cli -a {} get x", '{{"Authorization": "Token {}"}}', "docker login -u a -p {} h", "Server=h;pwd={};",
    "htpasswd -b f me {}", "get https://h/?client_secret={}&n=1", "java -DkeyPassword={} x", "echo {} | sudo -S ls", "psql ssh://me:{}@h",
    "export A_TOKEN={} && x", "setenv A_TOKEN {}", "twine upload -u a -p {} x",
]  # fmt: skip


@given(
    st.sampled_from(PLACES),
    st.from_regex(r"[A-Za-z][A-Za-z0-9]{6}[0-9][A-Za-z0-9]{4,20}", fullmatch=True),
    st.booleans(),
)
def test_no_secret_is_left(place: str, secret: str, quoted: bool) -> None:
    """Alone, within a longer command, and where the whole is a word of another."""
    text = place.format(secret)
    text = f"bash -c {shlex.quote(text)} --n 5" if quoted and "'" not in text else f"run {text}\nend"

    assert secret not in masked(text)
    assert masked(masked(text)) == masked(text)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "--n",
                    "size",
                    "--model",
                    "batch=",
                    "--pass-rate",
                    "seed",
                    "signal",
                    "--format",
                    "page",
                    "design",
                    "-p",
                ]
            ),
            st.from_regex(r"[a-z0-9/.]{1,12}", fullmatch=True),
        ),
        max_size=6,
    )
)
def test_innocent_words_stay(words: list[tuple[str, str]]) -> None:
    """Whatever their values."""
    text = " ".join(f"{name}{'' if name.endswith('=') else ' '}{value}" for name, value in words)
    assert masked(text) == text


def test_command_lines_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """For those who measure again from what is stored; messages are masked as ever."""
    monkeypatch.setenv(KEEP, "1")
    assert masked_command("x --token abc") == "x --token abc"
    assert masked_parameters({"token": "abc"}) == {"token": "abc"}
    assert masked("x --token abc") == "x --token ***"


def test_parameters_are_masked_by_their_names() -> None:
    """Numbers and all other names keep their values; a list is read like a command line."""
    given = {
        "api_key": "abc",
        "token": 5,
        "tokens": "abc",
        "url": "s3://u:pw@h",
        "arguments": ["--token", "a", "--n", "b"],
    }
    assert masked_parameters(given) == given | {
        "api_key": "***", "url": "s3://u:***@h", "arguments": ["--token", "***", "--n", "b"],
    }  # fmt: skip


def test_cases_that_differ_in_a_secret_alone_are_refused() -> None:
    """Stored as ***, they would be one case."""
    template = Template("curl {token}")
    with pytest.raises(BenchError, match="looks like a secret, and has several values"):
        plan([template], parameters=[("token", ["abc", "def"])])
    ((side,),) = plan([template], parameters=[("token", ["abc"])])
    assert side.words == ("curl", "abc") and str(side) == "curl ***"


def test_variables_are_masked_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of PyTorch and NCCL are recorded by prefix, whatever they hold."""
    monkeypatch.setenv("TORCH_HUB_TOKEN", "two words")
    monkeypatch.setenv("NCCL_SECRET_TOKEN", "hush")
    monkeypatch.setenv("TORCH_LOGS", "+dynamo")
    variables = environment.capture.__wrapped__().variables
    assert variables is not None
    assert '"TORCH_LOGS":"+dynamo"' in variables.replace(" ", "")
    assert "hush" not in variables and "two words" not in variables
    assert masked_variable("TORCH_PROXY", "http://u:pw@h") == "http://u:***@h"


# By the way in: each differs, and is long enough not to stand anywhere by chance.
HUSH = {
    way: f"hush{number:02}{'x' * 24}"
    for number, way in enumerate(
        ["option", "option=", "variable", "quoted", "url", "header", "parameter", "tag", "environment", "torch variable",
         "stderr", "stderr json", "stderr url", "exception", "api command", "api parameter", "api outcome", "api metric",
         "import command", "import reject", "setting"]
    )
}  # fmt: skip
FAILS = """
import os, sys
print("token=" + os.environ["HUSH_STDERR"], '{"api_key": "%s"}' % os.environ["HUSH_JSON"], file=sys.stderr)
print("cannot reach https://me:%s@host/ as" % os.environ["HUSH_URL"], os.environ["HF_TOKEN"], sys.argv, file=sys.stderr)
sys.exit(3)
"""


@pytest.mark.exhaustive
def test_no_file_holds_a_secret(tmp_path: Path) -> None:
    """Twenty-one ways into a store, all of its files, and what pages, exports and the terminal show of it."""
    store, out = tmp_path / "store", tmp_path / "out"
    out.mkdir()
    (tmp_path / "fails.py").write_text(FAILS)
    hyperfine = {
        "command": f"curl --token {HUSH['import command']} x",
        "mean": 0.1,
        "times": [0.1, 0.1],
        "exit_codes": [0, 0],
    }
    (tmp_path / "h.json").write_text(
        json.dumps({"results": [hyperfine, {"command": "x", "times": [{"api_key": HUSH["import reject"]}]}]})
    )
    variables = {
        **os.environ, "HF_TOKEN": HUSH["environment"], "TORCH_HUB_TOKEN": HUSH["torch variable"],
        "HUSH_STDERR": HUSH["stderr"], "HUSH_JSON": HUSH["stderr json"], "HUSH_URL": HUSH["stderr url"],
    }  # fmt: skip
    said = []

    def tell(*words: object) -> None:
        line = [sys.executable, "-m", "bench", *map(str, words)]
        done = subprocess.run(line, capture_output=True, cwd=tmp_path, env=variables)
        assert done.returncode in (0, 1) and b"internal error" not in done.stderr, done
        said.append(done.stdout + done.stderr)

    tell("measure", "command", "--repeat", "2", "--store", store, "--tag", f"api_key={HUSH['tag']}",
         "--parameter", f"password={HUSH['parameter']}", "--config", "a", "--", sys.executable, "fails.py", "{password}",
         "--api-key", HUSH["option"], f"--secret={HUSH['option=']}", f"AUTH_TOKEN={HUSH['variable']}",
         "--note", f"it's --token '{HUSH['quoted']}' here", f"postgres://u:{HUSH['url']}@h",
         f"Authorization: Bearer {HUSH['header']}")  # fmt: skip
    script = f"""
import bench
with bench.run("b", store={str(store)!r}, command="x --password={HUSH["api command"]}",
               settings={{"hub_token": {HUSH["setting"]!r}}}) as run:
    case = run.case("c", parameters={{"secret_key": {HUSH["api parameter"]!r}}})
    case.timing(5)
    case.metric("m", 1.0, text="password: {HUSH["api metric"]}")
    case.outcome("ok", message="client_secret='{HUSH["api outcome"]}'")
    raise ValueError("bad token={HUSH["exception"]}")
"""
    subprocess.run([sys.executable, "-c", script], env=variables, cwd=tmp_path, capture_output=True)
    tell("ingest", "C:h.json", "--store", store)
    for name in ("a", "b"):
        tell("show", name, "--format", "json", "--store", store)
        tell("report", name, "-o", out / f"{name}.html", "--store", store)
        tell("export", name, "--as", "csv", "-o", out / f"{name}.csv", "--store", store)
    for table in ("runs", "cases", "outcomes", "metrics", "environments", "rejects"):
        tell("sql", f"FROM {table}", "--format", "json", "--store", store)

    written = {path: path.read_bytes() for folder in (store, out) for path in folder.rglob("*") if path.is_file()}
    assert sum(data.count(b"***") for data in said) > 15
    for way, secret in HUSH.items():
        assert [path for path, data in written.items() if secret.encode() in data] == [], way
        assert not [data for data in said if secret.encode() in data], way


@pytest.mark.exhaustive
def test_an_option_keeps_command_lines(tmp_path: Path) -> None:
    """As the variable does, here of a program that is measured and of bench itself."""
    line = "bench measure command --keep-command-line --repeat 2 --store store -- true --api-key hush"
    subprocess.run([sys.executable, "-m", *shlex.split(line)], cwd=tmp_path, check=True, capture_output=True)
    read = "bench sql --store store --format csv 'SELECT command, name FROM cases JOIN runs USING (run_id)'"
    found = subprocess.run(
        [sys.executable, "-m", *shlex.split(read)], cwd=tmp_path, check=True, capture_output=True
    ).stdout
    assert found.count(b"--api-key hush") == 2


@pytest.mark.parametrize(
    "unit",
    first_of(
        3,
        [
            "a1+/\n",
            "-----BEGIN PRIVATE KEY-----\n",
            "echo a1 ",
            "curl -a a1 ",
            "?a=b&",
            "login me password ",
            "htpasswd -b ",
            "fly secrets set a ",
            "auth=('a' ",
            "authorization: a ",
            "vault kv put ",
            "config create r ",
        ],
    ),
)
def test_masking_takes_linear_time(unit: str) -> None:
    """Also for what begins like a secret over and over; the end of a program's output may be anything."""
    text = unit * (60_000 // len(unit)) + " PRIVATE KEY----- token"
    start = time.process_time()
    masked(text)
    assert time.process_time() - start < 5
