"""Which names are technologies, which of them stand for the same, and which compete. Pure.

Two names of one kind compete: a project that writes "Postgres" here and "SQLite" there has chosen
twice. The table holds names that people write, of any project; `a|b` are two spellings of one.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby

from ddx.values import value

OPEN, CLOSE = "\x02", "\x03"
"""Around a known name; statements are read without these characters."""

# The first spelling is the one we show.
_NAMES = {
    "database": "postgresql|postgres|psql, mysql, mariadb, sqlite|sqlite3, mongodb|mongo, "
    "cassandra, dynamodb, couchdb, couchbase, cockroachdb, sql server|mssql|ms sql, oracle "
    "database|oracle db, firestore, firebase, duckdb, clickhouse, influxdb, timescaledb, neo4j, "
    "bigquery, snowflake db, redshift, scylladb, rethinkdb, leveldb, rocksdb, redis, db2",
    "cache": "redis, memcached|memcache, hazelcast, varnish, valkey, ehcache",
    "message broker": "kafka, rabbitmq, nats, activemq, sqs|amazon sqs, pub/sub|pubsub, "
    "zeromq|0mq, pulsar, service bus, kinesis, redis, mosquitto, celery, sidekiq",
    "search engine": "elasticsearch|elastic search, opensearch, solr, meilisearch, typesense, "
    "algolia, lucene, sphinx search",
    "programming language": "python, java, javascript|js, typescript, node.js|nodejs, "
    "golang|go, rust, c++|cpp, c#, kotlin, swift, ruby, php, scala, elixir, erlang, haskell, "
    "clojure, perl, lua, dart, zig, objective-c, fortran, cobol, ocaml, f#, julia, visual basic, "
    "matlab",
    "frontend framework": "react|react.js|reactjs, vue|vue.js|vuejs, angular|angularjs, svelte, "
    "ember|ember.js, solidjs, preact, htmx, jquery, lit element, alpine.js",
    "application framework": "django, flask, fastapi, rails|ruby on rails, spring boot|spring, "
    "express|express.js, nestjs, laravel, symfony, asp.net|asp.net core, phoenix framework, gin, "
    "quarkus, micronaut, next.js|nextjs, nuxt|nuxt.js, remix, gatsby, sveltekit",
    "mobile framework": "flutter, react native, ionic, xamarin, cordova, swiftui, jetpack compose",
    "style framework": "tailwind|tailwindcss|tailwind css, bootstrap, bulma, material ui|mui, "
    "foundation css",
    "cloud": "aws|amazon web services, azure|microsoft azure, gcp|google cloud|google cloud "
    "platform, digitalocean, heroku, hetzner, alibaba cloud, ibm cloud, oracle cloud, fly.io, "
    "openstack, vercel, netlify, cloudflare",
    "orchestrator": "kubernetes|k8s, nomad, docker swarm, ecs|amazon ecs, mesos, openshift, "
    "docker compose",
    "container runtime": "docker, podman, containerd, lxc, singularity",
    "continuous integration": "github actions, gitlab ci, jenkins, circleci, travis|travis ci, "
    "teamcity, buildkite, azure devops, azure pipelines, drone ci",
    "code host": "github, gitlab, bitbucket, gitea, forgejo",
    "infrastructure tool": "terraform, pulumi, cloudformation, ansible, puppet, saltstack, "
    "opentofu, aws cdk",
    "build tool": "maven, gradle, bazel, cmake, meson, webpack, vite, rollup, esbuild, parcel",
    "package manager": "npm, yarn, pnpm, pip, poetry, conda, bundler, composer, cargo, nuget",
    "api style": "rest|restful|rest api, graphql, grpc, soap, json-rpc, xml-rpc, thrift, odata, "
    "trpc",
    "transport": "websocket|websockets|web sockets, server-sent events|sse, mqtt, amqp, long "
    "polling, webrtc, webhooks|webhook, ftp, sftp, quic",
    "authentication": "oauth2|oauth|oauth 2.0|oauth 2|openid connect|oidc, saml|saml2, ldap, "
    "kerberos, basic auth|basic authentication|http basic, api keys|api key, mutual tls|mtls, "
    "passkeys|webauthn, magic links|magic link",
    "format": "json, xml, yaml|yml, toml, csv, protobuf|protocol buffers, avro, parquet, "
    "messagepack|msgpack, ini, html, pdf, markdown, jsonl|json lines, excel|xlsx, cbor, latex, "
    "rst|restructuredtext, asciidoc",
    "image format": "png, jpeg|jpg, webp, svg, avif, gif",
    "encoding": "utf-8|utf8, utf-16|utf16, latin-1|iso-8859-1, ascii",
    "licence": "mit license|mit licence|mit-licensed|mit, apache 2.0|apache-2.0|apache license, "
    "gpl-3.0|gplv3|gpl 3|gpl-3.0-only|gpl-3.0-or-later|gpl, gpl-2.0|gplv2, agpl-3.0|agplv3|agpl, "
    "lgpl|lgplv3|lgpl-3.0, bsd-3-clause|bsd license, mpl-2.0|mpl, isc license, unlicense",
    "operating system": "linux, windows, macos|mac os|os x, freebsd, android, ios",
    "web server": "nginx, apache httpd, caddy, iis, traefik, haproxy, envoy",
    "test framework": "pytest, unittest, junit, jest, mocha, vitest, rspec, testng",
    "browser driver": "cypress, playwright, selenium, puppeteer",
    "object mapper": "sqlalchemy, hibernate, prisma, typeorm, sequelize, entity framework",
    "monitoring": "prometheus, datadog, new relic, cloudwatch, nagios, zabbix, influx telegraf",
    "log store": "splunk, loki, graylog, logstash",
    "password hash": "bcrypt, argon2|argon2id, scrypt, pbkdf2",
    "digest": "md5, sha-1|sha1, sha-256|sha256, sha-512|sha512, blake2|blake2b, blake3",
    "cipher": "aes-128|aes128, aes-256|aes256, chacha20, 3des|triple des, rc4",
    "version control": "git, mercurial, subversion|svn, perforce",
    "time zone": "utc, local time",
}
_CASED = """
    Go Rust Swift Ruby Dart Julia Express Spring Gin React REST SOAP Flask Puppet MIT Rails
    Angular Ember Remix Parcel Composer Bundler Poetry Cargo Bootstrap Loki Nomad Caddy Envoy
    Windows Excel Thrift Pulsar Cypress SSE INI Jest Mocha Meson Elixir Celery Ionic Singularity
    Varnish Mosquitto Perforce
"""
_CASED_NAMES = {name.lower(): name for name in _CASED.split()}
"""Words that mean something else too: they count as they are spelled here, inside a sentence."""

NOT_EXCLUSIVE = frozenset({"operating system", "code host"})
"""A project that names two of these has not chosen twice, unless it says only."""
ONE_FOR_EACH = frozenset(
    {
        *("programming language", "frontend framework", "application framework"),
        *("mobile framework", "authentication", "licence", "orchestrator", "build tool"),
        *("continuous integration", "package manager", "test framework", "password hash"),
    }
)
"""Whoever uses one of these uses no other, whatever else is said of it."""
_ONE_WORLD = frozenset({"node.js", "javascript", "typescript"})
"""What is written in either of the last two may well run on the first."""

_SLOTS = {
    "database": r"databases?|db|data ?stores?|data ?bases?|persist\w*|stor(?:e|es|ed|age|ing)|data"
    r"|relational|of record|ke(?:ep|eps|pt)|save[sd]?|lives?|held|local|small|embedded|files?",
    "cache": r"cach(?:e|es|ed|ing)",
    "message broker": r"messages?|messaging|queue[sd]?|brokers?|event bus|bus|streaming|topics?"
    r"|pull\w*|push\w*|sen[dt]s?|publish\w*|distribut\w*|dispatch\w*|hand(?:s|ed)?|consume[sd]?"
    r"|deliver\w*|receive[sd]?|rout(?:e|es|ed|ing)",
    "search engine": r"search|full-text|index(?:es|ed|ing)?",
    "programming language": r"languages?|programming|writ(?:e|es|ten)|implement(?:ed|s|ation)?"
    r"|code[sd]?|develop\w*|daemon|process|program|script|small|tool",
    "frontend framework": r"frameworks?|built|build|librar(?:y|ies)",
    "application framework": r"frameworks?|built|build",
    "mobile framework": r"frameworks?|built|build",
    "style framework": r"style[sd]?|styling|css|framework",
    "cloud": r"clouds?|host(?:s|ed|ing)?|deploy\w*|provider|workloads?|everything|run(?:s|ning)?",
    "orchestrator": r"orchestrat\w*|deploy\w*|containers?|clusters?|run(?:s|ning)?|workloads?",
    "container runtime": r"containers?|runtime|images?|packaged",
    "continuous integration": r"continuous|integration|ci|pipelines?|builds?|run(?:s|ning)?",
    "code host": r"host(?:s|ed|ing)?|repositor(?:y|ies)|source|code",
    "infrastructure tool": r"infrastructure|described?|provision\w*|configur\w*|managed?",
    "build tool": r"build|builds|built|bundl\w*|compil\w*",
    "package manager": r"packages?|dependenc(?:y|ies)|install\w*|managed?|manager",
    "api style": r"apis?|interfaces?|endpoints?|communicat\w*|calls?|protocol",
    "transport": r"protocols?|transport|communicat\w*|connect\w*",
    "authentication": r"authenticat\w*|auth|login|signin|users?|identity|providers?",
    "format": r"formats?|files?|exchang\w*|serializ\w*|serialis\w*|encoded?|data|written",
    "image format": r"images?|formats?|files?|encoded?|pictures?",
    "encoding": r"encod\w*|text|characters?",
    "licence": r"licen[sc]\w*|publish\w*|releas\w*|code|source|project|distribut\w*",
    "web server": r"server|proxy|reverse|serve[sd]?|web",
    "test framework": r"tests?|testing|unit|framework",
    "browser driver": r"tests?|testing|browser|end-to-end",
    "object mapper": r"orm|mapper|mapping|access|database",
    "monitoring": r"monitor\w*|metrics?|observ\w*",
    "log store": r"logs?|logging",
    "password hash": r"hash\w*|stor(?:e|ed)",
    "digest": r"hash\w*|digest\w*|checksums?",
    "cipher": r"encrypt\w*|cipher|data|rest|at",
    "version control": r"version|control|source|code",
    "time zone": r"times?|zones?|timestamps?|clock",
}
"""Words that name the place a technology fills, so that they say nothing of where it applies."""

_LOWERCASE_MAY_FOLLOW = (
    r"(?:\b(?:use|uses|using|used|written in|implemented in|built with|build with|instead of|"
    r"rather than|switch to|move to|migrate to|replace|language|framework|database|format|stack|"
    r"api|broker|and|or|with|from|drop|adopt|not|no)(?: is)?:? )"
)


@value
class Technology:
    """A known name and the kinds that it may be chosen for, the usual one first."""

    name: str
    kinds: tuple[str, ...]


def marked(text: str) -> str:
    """The text with each known name in marks, spelled in one way; the rest is as it was."""
    return _pattern().sub(_mark, text)


def find_technology(name: str) -> Technology | None:
    return _table()[1].get(name)


def go_together(names: frozenset[str]) -> bool:
    """Several that make no choice between them."""
    return "node.js" in names and names <= _ONE_WORLD


@cache
def slot_of(kind: str) -> re.Pattern[str]:
    """What names this kind in a statement."""
    return re.compile(rf"\b(?:{kind}|{_SLOTS.get(kind, kind)})\b")


def _mark(match: re.Match[str]) -> str:
    spelled = match[0]
    bare = spelled.lower()
    proper = _CASED_NAMES.get(bare)
    if proper is not None and not _is_meant(match, spelled, proper):
        return spelled
    return f"{OPEN}{_table()[0][bare]}{CLOSE}"


def _is_meant(match: re.Match[str], spelled: str, proper: str) -> bool:
    """`go` is a language where it is spelled so inside a sentence, or where a choice is named."""
    before = match.string[: match.start()].lower()
    if spelled == proper and before.strip(" *_`([\"'"):
        return not before.rstrip(" *_`([\"'").endswith((".", "!", "?"))
    if not before.strip() and match.end() >= len(match.string.rstrip(" .!")):
        return True
    return _may_follow().search(before) is not None


@cache
def _may_follow() -> re.Pattern[str]:
    return re.compile(rf"{_LOWERCASE_MAY_FOLLOW}(?:a |an |the )?\Z")


@cache
def _table() -> tuple[dict[str, str], dict[str, Technology]]:
    """Every spelling with its name, and every name with its kinds."""
    spellings: dict[str, str] = {}
    kinds: dict[str, list[str]] = {}
    for kind, names in _NAMES.items():
        for entry in names.split(","):
            name, *others = (spelling.strip() for spelling in entry.split("|"))
            kinds.setdefault(name, []).append(kind)
            spellings |= dict.fromkeys((name, *others), name)
    # Redis is a cache first: its other uses have to be named.
    for found in kinds.values():
        if "cache" in found:
            found.sort(key=lambda kind: kind != "cache")
    return spellings, {name: Technology(name, tuple(found)) for name, found in kinds.items()}


@cache
def _pattern() -> re.Pattern[str]:
    """All spellings, the longest first; by first letter, which is ten times as fast."""
    spellings = sorted(_table()[0], key=lambda each: (each[0], -len(each)))
    letters = (
        f"{re.escape(letter)}(?:{'|'.join(re.escape(each[1:]) for each in same)})"
        for letter, same in groupby(spellings, key=lambda each: each[0])
    )
    return re.compile(rf"(?<![\w./#+-])(?:{'|'.join(letters)})(?![\w#+]|-\w|\.\w)", re.IGNORECASE)
